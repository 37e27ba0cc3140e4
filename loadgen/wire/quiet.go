package wire

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Quiet looks at an idle connection without waiting: it is true when the peer
// has neither closed it nor sent anything. A kept connection that is not quiet
// must not carry another request; the FIN of a reloading HAProxy is seen here.
type Quiet struct {
	raw   syscall.RawConn
	look  func(fd uintptr)
	quiet bool
}

// NewQuiet prepares the look at one connection, so that looking allocates nothing.
func NewQuiet(conn syscall.Conn) (*Quiet, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	q := &Quiet{raw: raw}
	q.look = func(fd uintptr) {
		var one [1]byte
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		// Only "nothing there yet" is quiet: 0 bytes is a FIN, a byte is an answer
		// to nothing, any other error a reset.
		q.quiet = err == unix.EAGAIN
	}
	return q, nil
}

// Check looks now.
func (q *Quiet) Check() bool {
	q.quiet = false
	// Control, unlike Read, does not mind a deadline that has passed meanwhile.
	if err := q.raw.Control(q.look); err != nil {
		return false
	}
	return q.quiet
}
