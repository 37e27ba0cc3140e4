package wire

import (
	"bytes"
	"fmt"
	"time"
)

// maxInterim bounds the 1xx answers before a final one.
const maxInterim = 16

// Response is one final answer, or as much of it as came before an error.
type Response struct {
	Status    int           // 0 when no whole status line came
	Bytes     int64         // bytes of body received, chunk framing not counted
	FirstByte time.Duration // arrival of the answer's first byte, 0 when none came
	Reusable  bool          // the connection may carry another request

	// Who served it, from the headers X-Ingress-Node, X-Server, X-Pod and X-Node.
	IngressNode, Server, Pod, PodNode string

	length  int64 // of the body as announced, -1 when not announced
	chunked bool
}

// Read reads the answer to one request of the given method. On an error the
// response holds what is known; Stage says how far it came.
func (r *Reader) Read(method string) (Response, error) {
	r.arrived, r.firstByte = false, 0
	var resp Response
	err := r.readAnswer(&resp, method)
	resp.FirstByte = r.firstByte
	if err != nil {
		resp.Reusable = false
		return resp, err
	}
	if r.start != r.end {
		resp.Reusable = false
		return resp, fmt.Errorf("%w: %d surplus bytes after its end", errMalformed, r.end-r.start)
	}
	return resp, nil
}

// Stage is Answered when at least one byte of the last answer has arrived.
func (r *Reader) Stage() Stage {
	if r.arrived {
		return Answered
	}
	return Waiting
}

func (r *Reader) readAnswer(resp *Response, method string) error {
	for interim := 0; ; interim++ {
		*resp = Response{length: -1}
		if err := r.readHead(resp); err != nil {
			return err
		}
		if resp.Status >= 200 {
			break
		}
		if resp.Status == 101 || interim == maxInterim {
			return fmt.Errorf("%w: unwanted %d", errMalformed, resp.Status)
		}
	}
	return r.readBody(resp, method)
}

func (r *Reader) readHead(resp *Response) error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if err := parseStatusLine(resp, line); err != nil {
		return err
	}
	for size := len(line); ; {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		if size += len(line) + 2; size > maxHead {
			return fmt.Errorf("%w: head over %d bytes", errMalformed, maxHead)
		}
		if err := r.parseHeader(resp, line); err != nil {
			return err
		}
	}
}

// parseStatusLine reads "HTTP/1.1 200 OK"; the reason may be missing.
func parseStatusLine(resp *Response, line []byte) error {
	const prefix = "HTTP/1."
	ok := len(line) >= 12 && string(line[:7]) == prefix && (line[7] == '0' || line[7] == '1') &&
		line[8] == ' ' && (len(line) == 12 || line[12] == ' ')
	status := 0
	for i := 9; ok && i < 12; i++ {
		ok = line[i] >= '0' && line[i] <= '9'
		status = status*10 + int(line[i]-'0')
	}
	if !ok || status < 100 {
		return fmt.Errorf("%w: status line %.60q", errMalformed, line)
	}
	resp.Status = status
	resp.Reusable = line[7] == '1'
	return nil
}

func (r *Reader) parseHeader(resp *Response, line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || bytes.ContainsAny(line[:colon], " \t") {
		return fmt.Errorf("%w: header line %.60q", errMalformed, line)
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	// The length tells most headers apart without comparing letters.
	switch len(name) {
	case len("content-length"):
		switch {
		case isName(name, "content-length"):
			return parseLength(resp, value)
		case isName(name, "x-ingress-node"):
			resp.IngressNode = r.names.intern(value)
		}
	case len("transfer-encoding"):
		if isName(name, "transfer-encoding") {
			if resp.chunked || !isName(value, "chunked") {
				return fmt.Errorf("%w: transfer encoding %.60q", errMalformed, value)
			}
			resp.chunked = true
		}
	case len("connection"):
		if isName(name, "connection") && hasToken(value, "close") {
			resp.Reusable = false
		}
	case len("x-server"):
		if isName(name, "x-server") {
			resp.Server = r.names.intern(value)
		}
	case len("x-node"):
		if isName(name, "x-node") {
			resp.PodNode = r.names.intern(value)
		}
	case len("x-pod"):
		if isName(name, "x-pod") {
			resp.Pod = r.names.intern(value)
		}
	}
	return nil
}

// isName compares a header name with one written in lower case.
func isName(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i := range name {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func hasToken(list []byte, lower string) bool {
	for token := range bytes.SplitSeq(list, []byte(",")) {
		if isName(bytes.Trim(token, " \t"), lower) {
			return true
		}
	}
	return false
}

// maxBody is the largest length of a body that is believed (1 TiB).
const maxBody = 1 << 40

func parseLength(resp *Response, value []byte) error {
	length := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' || length > maxBody {
			return fmt.Errorf("%w: content length %.60q", errMalformed, value)
		}
		length = length*10 + int64(c-'0')
	}
	if len(value) == 0 || resp.length >= 0 && resp.length != length || length > maxBody {
		return fmt.Errorf("%w: content length %.60q", errMalformed, value)
	}
	resp.length = length
	return nil
}
