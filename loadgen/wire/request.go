package wire

import (
	"fmt"
	"strconv"
)

// idDigits is the fixed width of a request's id, so that every request of a run
// has the same length and bytes can be accounted for exactly.
const idDigits = 10

// Request describes the requests of a run; they differ in their id only.
type Request struct {
	Method, Host, Path string
	Body               []byte // shared by all requests, never written to
	Close              bool   // ask the server to close the connection afterwards
}

// Sender writes one request after the other to the connection of one worker. It
// is not safe for concurrent use.
type Sender struct {
	head   []byte
	digits []byte // the id inside head
	body   []byte
}

// NewSender lays out the request once; only the id changes afterwards.
func NewSender(q Request) *Sender {
	head := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nX-Request-Id: ", q.Method, q.Path, q.Host)
	id := len(head)
	head = fmt.Appendf(head, "%0*d\r\n", idDigits, 0)
	if len(q.Body) > 0 || q.Method == "POST" || q.Method == "PUT" {
		head = fmt.Appendf(head, "Content-Length: %d\r\n", len(q.Body))
	}
	if q.Close {
		head = append(head, "Connection: close\r\n"...)
	}
	head = append(head, "\r\n"...)
	return &Sender{head: head, digits: head[id : id+idDigits], body: q.Body}
}

// Size is the number of bytes of one request on the wire, above TCP.
func (s *Sender) Size() int { return len(s.head) + len(s.body) }

// Send writes the request with the given id.
func (s *Sender) Send(conn *Conn, id uint64) error {
	text := strconv.AppendUint(make([]byte, 0, 20), id, 10)
	for i := range s.digits {
		s.digits[i] = '0'
	}
	text = text[max(0, len(text)-idDigits):]
	copy(s.digits[idDigits-len(text):], text)
	if len(s.body) == 0 {
		_, err := conn.Write(s.head)
		return err
	}
	if _, err := conn.WriteMore(s.head); err != nil {
		return err
	}
	_, err := conn.Write(s.body)
	return err
}
