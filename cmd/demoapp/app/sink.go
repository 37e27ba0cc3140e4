package app

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	maxSinks = 64
	sinkIdle = 30 * time.Second
)

// sink swallows whatever is sent to l until ctx ends. A connection that says
// nothing for sinkIdle is closed; one beyond maxSinks is closed at once.
func sink(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	var open sync.WaitGroup
	defer open.Wait()
	places := make(chan struct{}, maxSinks)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept on the sink port: %w", err)
		}
		select {
		case places <- struct{}{}:
			open.Go(func() {
				swallow(ctx, conn)
				<-places
			})
		default:
			conn.Close()
		}
	}
}

func swallow(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	buffer := make([]byte, 64<<10)
	for {
		conn.SetReadDeadline(time.Now().Add(sinkIdle))
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
}
