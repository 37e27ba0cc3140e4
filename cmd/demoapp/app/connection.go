package app

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connection is one of a client, with what its end depends on.
type connection struct {
	net.Conn
	born time.Time

	mu   sync.Mutex
	idle *time.Timer // closes it; nil while it is in use
}

// CloseWrite keeps half a close possible, which ends a poll in good order.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *connection) closeAfter(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = time.AfterFunc(limit, func() { c.Close() })
}

func (c *connection) inUse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle.Stop()
		c.idle = nil
	}
}

type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// ageOf is how long the request's connection has been open.
func ageOf(r *http.Request) time.Duration {
	if conn, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		return time.Since(conn.born)
	}
	return 0
}

// connState sets the abrupt end of idle connections.
func (l *life) connState(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*connection)
	if !ok {
		return
	}
	c.inUse()
	s := l.settings()
	if state == http.StateIdle && s.KeepAlive > 0 && s.Closing == ClosingAbrupt {
		c.closeAfter(s.KeepAlive)
	}
}

// closesWith says that an answer is the last one of its connection and says so.
func (l *life) closesWith(s *Settings, r *http.Request) bool {
	switch {
	case s.AppPort == PortRefuse:
		return true
	case s.Closing != ClosingAnnounced:
		return false
	}
	return l.stopping.Load() || s.KeepAlive > 0 && ageOf(r) >= s.KeepAlive
}
