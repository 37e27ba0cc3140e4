package background

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxSinkConnections bounds what strangers can make the sink hold.
const maxSinkConnections = 1024

// Sink takes and forgets everything that is sent to the listener until ctx ends.
// received counts the bytes as they come.
func Sink(ctx context.Context, listener *net.TCPListener, received *atomic.Int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	var open sync.WaitGroup
	defer open.Wait()
	slots := make(chan struct{}, maxSinkConnections)
	for {
		conn, err := listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			cancel() // before open.Wait, so that it can end
			return fmt.Errorf("sink: %w", err)
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		open.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			// A stream that breaks is its sender's business.
			_ = discard(conn, received)
		})
	}
}

// discard takes bytes without copying them out of the kernel: to TCP, MSG_TRUNC
// means that nobody wants to see them. That leaves the cores to what is measured.
func discard(conn *net.TCPConn, received *atomic.Int64) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	for {
		var n int
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			n, _, failed = unix.Recvfrom(int(fd), buf, unix.MSG_TRUNC|unix.MSG_DONTWAIT)
			return failed != unix.EAGAIN
		})
		switch {
		case err != nil:
			return err
		case failed != nil:
			return failed
		case n == 0:
			return io.EOF
		}
		received.Add(int64(n))
	}
}
