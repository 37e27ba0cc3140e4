package wire

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// Sizes of the reader's buffer. A head is read whole into the buffer, so that the
// largest head is the largest buffer.
const (
	startBuffer = 4 << 10
	maxHead     = 32 << 10
	scratchSize = 64 << 10
)

// Reader reads answers from one connection. It reads no further than the answer
// needs, except into its own buffer.
type Reader struct {
	src   io.Reader
	now   func() time.Duration
	names *Names

	buf        []byte
	start, end int // the unread part of buf

	arrived   bool // a byte of the current answer has arrived
	firstByte time.Duration
}

// NewReader reads answers from src; now is the run's clock, names shares the
// strings of the headers that are kept.
func NewReader(src io.Reader, now func() time.Duration, names *Names) *Reader {
	return &Reader{src: src, now: now, names: names, buf: make([]byte, startBuffer)}
}

// Reset makes the reader read from a new connection, with nothing left over.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.start, r.end = src, 0, 0
}

// fill reads more bytes behind the unread ones. It makes room first.
func (r *Reader) fill() error {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		if len(r.buf) >= maxHead {
			return fmt.Errorf("%w: head or line over %d bytes", errMalformed, maxHead)
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	n, err := r.read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	return err
}

// read is the one place where bytes arrive.
func (r *Reader) read(into []byte) (int, error) {
	n, err := r.src.Read(into)
	if n > 0 && !r.arrived {
		r.arrived = true
		r.firstByte = r.now()
	}
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	return n, err
}

// line returns the next line without its CRLF; it is valid until the next read.
func (r *Reader) line() ([]byte, error) {
	searched := 0
	for {
		unread := r.buf[r.start:r.end]
		if i := bytes.IndexByte(unread[searched:], '\n'); i >= 0 {
			i += searched
			r.start += i + 1
			if i == 0 || unread[i-1] != '\r' {
				return nil, fmt.Errorf("%w: line end without CR", errMalformed)
			}
			return unread[:i-1], nil
		}
		searched = len(unread)
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// discard reads exactly n bytes of body and adds them to *count as they come.
func (r *Reader) discard(n int64, count *int64) error {
	buffered := min(n, int64(r.end-r.start))
	r.start += int(buffered)
	*count += buffered
	n -= buffered
	if n == 0 {
		return nil
	}
	into := r.buf // empty by now
	if n > int64(len(into)) {
		scratch := r.names.scratch()
		defer r.names.release(scratch)
		into = *scratch
	}
	for n > 0 {
		got, err := r.read(into[:min(n, int64(len(into)))])
		*count += int64(got)
		n -= int64(got)
		if got == 0 {
			return err
		}
	}
	return nil
}
