// Package bench holds the trivial server that load generators are measured
// against, and the comparison of loadgen with other generators.
package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Serve answers every GET on the listener's connections with a fixed answer of
// size bytes, as cheaply as it can, until ctx ends. It is no HTTP server: it only
// looks for the empty line that ends a request without a body.
func Serve(ctx context.Context, listener net.Listener, size int) error {
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nX-Pod: bench\r\nContent-Length: %d\r\n\r\n", size)
	answer = append(answer, bytes.Repeat([]byte{'x'}, size)...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			cancel()
			return fmt.Errorf("bench server: %w", err)
		}
		open.Go(func() { answerAll(ctx, conn, answer) })
	}
}

func answerAll(ctx context.Context, conn net.Conn, answer []byte) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	buf := make([]byte, 16<<10)
	kept := 0
	for {
		n, err := conn.Read(buf[kept:])
		if err != nil {
			return
		}
		text := buf[:kept+n]
		requests := bytes.Count(text, []byte("\r\n\r\n"))
		if requests == 0 && len(text) == len(buf) {
			return // no request is that long
		}
		for range requests {
			if _, err := conn.Write(answer); err != nil {
				return
			}
		}
		last := bytes.LastIndex(text, []byte("\r\n\r\n"))
		if last >= 0 {
			last += 4
		}
		kept = copy(buf, text[max(last, 0):])
	}
}
