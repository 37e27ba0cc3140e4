package wire

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conn is a TCP connection whose reads and writes do not tell the scheduler that
// a system call is going on. They cannot block, but a write to a busy machine's
// loopback takes longer than the 20 microseconds after which the runtime starts
// another thread in the caller's place; on one core those threads cost more than
// the requests. Reads and writes are not safe for concurrent use.
type Conn struct {
	*net.TCPConn
	raw syscall.RawConn

	// The call in progress. The functions are made once, so that calls allocate nothing.
	buf    []byte
	flags  uintptr
	n      int
	errno  syscall.Errno
	peeked byte
	quiet  bool

	receive, send func(fd uintptr) (ready bool)
	peek          func(fd uintptr)
}

// NewConn wraps an open connection.
func NewConn(tcp *net.TCPConn) (*Conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &Conn{TCPConn: tcp, raw: raw}
	c.receive, c.send, c.peek = c.receiveSome, c.sendRest, c.peekOne
	return c, nil
}

// Read reads what is there, or waits for it until the read deadline.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.buf, c.n, c.errno = p, 0, 0
	err := c.raw.Read(c.receive)
	c.buf = nil
	switch {
	case err != nil:
		return 0, err
	case c.errno != 0:
		return 0, c.wrap("read", c.errno)
	case c.n == 0:
		return 0, io.EOF
	}
	return c.n, nil
}

func (c *Conn) receiveSome(fd uintptr) bool {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(c.buf))), uintptr(len(c.buf)))
		switch errno {
		case 0:
			c.n = int(n)
			return true
		case unix.EAGAIN:
			return false
		case unix.EINTR:
			continue
		}
		c.errno = errno
		return true
	}
}

// Write writes all of p, or fails.
func (c *Conn) Write(p []byte) (int, error) { return c.write(p, 0) }

// WriteMore is Write for bytes that more will follow at once: the kernel need not
// send a packet for them alone.
func (c *Conn) WriteMore(p []byte) (int, error) { return c.write(p, unix.MSG_MORE) }

func (c *Conn) write(p []byte, flags uintptr) (int, error) {
	c.buf, c.flags, c.n, c.errno = p, flags|unix.MSG_NOSIGNAL, 0, 0
	err := c.raw.Write(c.send)
	c.buf = nil
	if err == nil && c.errno != 0 {
		err = c.wrap("write", c.errno)
	}
	return c.n, err
}

func (c *Conn) sendRest(fd uintptr) bool {
	for c.n < len(c.buf) {
		rest := c.buf[c.n:]
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)), c.flags, 0, 0)
		switch errno {
		case 0:
			c.n += int(n)
		case unix.EAGAIN:
			return false
		case unix.EINTR:
		default:
			c.errno = errno
			return true
		}
	}
	return true
}

// Quiet looks at an idle connection without waiting: it is true when the peer
// has neither closed it nor sent anything. A kept connection that is not quiet
// must not carry another request; the FIN of a reloading HAProxy is seen here.
func (c *Conn) Quiet() bool {
	c.quiet = false
	// Control, unlike Read, does not mind a deadline that has passed meanwhile.
	if err := c.raw.Control(c.peek); err != nil {
		return false
	}
	return c.quiet
}

func (c *Conn) peekOne(fd uintptr) {
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&c.peeked)), 1,
		unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	// Only "nothing there yet" is quiet: 0 bytes is a FIN, a byte is an answer to
	// nothing, any other error a reset.
	c.quiet = errno == unix.EAGAIN
}

// wrap makes the error that package net would return.
func (c *Conn) wrap(op string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, errno)}
}
