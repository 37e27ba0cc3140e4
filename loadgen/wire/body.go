package wire

import (
	"bytes"
	"fmt"
)

// readBody reads and counts the body by the framing that the head announced.
func (r *Reader) readBody(resp *Response, method string) error {
	switch {
	case resp.chunked && resp.length >= 0:
		// Two ends are none: whoever sent both did not agree with itself.
		return fmt.Errorf("%w: both a length and chunks", errMalformed)
	case method == "HEAD", resp.Status == 204, resp.Status == 304:
		return nil
	case resp.chunked:
		return r.readChunks(resp)
	case resp.length >= 0:
		return r.discard(resp.length, &resp.Bytes)
	}
	return errUnframed
}

func (r *Reader) readChunks(resp *Response) error {
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		size, err := parseChunkSize(line)
		if err != nil {
			return err
		}
		if size == 0 {
			return r.readTrailer()
		}
		if err := r.discard(size, &resp.Bytes); err != nil {
			return err
		}
		if line, err = r.line(); err != nil {
			return err
		}
		if len(line) != 0 {
			return fmt.Errorf("%w: chunk longer than its size", errMalformed)
		}
	}
}

// readTrailer reads the header lines after the last chunk, which carry nothing
// that is kept.
func (r *Reader) readTrailer() error {
	for size := 0; ; {
		line, err := r.line()
		if err != nil || len(line) == 0 {
			return err
		}
		if size += len(line) + 2; size > maxHead {
			return fmt.Errorf("%w: trailer over %d bytes", errMalformed, maxHead)
		}
	}
}

// parseChunkSize reads the hexadecimal size of a chunk; extensions are skipped.
func parseChunkSize(line []byte) (int64, error) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	size := int64(0)
	for _, c := range digits {
		digit := hexDigit(c)
		if digit < 0 || size > maxBody {
			return 0, fmt.Errorf("%w: chunk size %.60q", errMalformed, line)
		}
		size = size<<4 | digit
	}
	if len(digits) == 0 || size > maxBody {
		return 0, fmt.Errorf("%w: chunk size %.60q", errMalformed, line)
	}
	return size, nil
}

func hexDigit(c byte) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'a' && c <= 'f':
		return int64(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int64(c-'A') + 10
	}
	return -1
}
