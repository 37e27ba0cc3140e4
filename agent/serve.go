package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// lingerTime is how long a poller may take to close its side after the line.
	lingerTime = 2 * time.Second
	// maxLingering bounds the pollers that are waited for; one more is cut off
	// after its line, so a hung or hostile poller can hold neither memory nor files.
	maxLingering = 64
	// acceptPause spaces attempts when the process is out of file descriptors.
	acceptPause = 50 * time.Millisecond
)

// Serve answers polls on l until ctx ends, then closes l and all connections and
// returns nil. A poll is answered before the next is accepted, without reading
// from the poller first, so slow pollers delay nobody. Serve returns an error
// only when l fails for good.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()

	var lingering sync.WaitGroup
	defer lingering.Wait()
	defer cancel() // before the wait above: it is what ends the lingering
	places := make(chan struct{}, maxLingering)
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept agent polls on %s: %w", l.Addr(), err)
		default:
			// Out of file descriptors, or a connection that died in the queue:
			// the listener itself is well, and giving up would freeze the weight.
			pause(ctx, acceptPause)
			continue
		}
		if !a.reply(conn) {
			continue
		}
		select {
		case places <- struct{}{}:
			lingering.Go(func() {
				linger(ctx, conn)
				<-places
			})
		default:
			conn.Close()
		}
	}
}

// reply writes the line; it reports false when the connection is done with. The
// line always fits the empty send buffer of a new connection; the deadline is
// for listeners that are not TCP.
func (a *Agent) reply(conn net.Conn) bool {
	conn.SetDeadline(time.Now().Add(lingerTime))
	if _, err := conn.Write(a.answer()); err != nil {
		conn.Close()
		return false
	}
	return true
}

// linger closes the sending side and swallows what the poller has to say (HAProxy
// can be told to send a word first). Closing with unread data would reset the
// connection and could destroy the line on its way.
func linger(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, io.LimitReader(conn, 4<<10))
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
