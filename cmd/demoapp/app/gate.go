package app

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// gate is a listener that can be shut, so that connections are refused, and
// opened again at the same address. A caller of Accept just waits meanwhile.
type gate struct {
	address string
	addr    net.Addr

	mu      sync.Mutex
	open    net.Listener  // nil while shut
	changed chan struct{} // closed at the next change
	closed  bool
}

func newGate(open net.Listener) *gate {
	return &gate{address: open.Addr().String(), addr: open.Addr(), open: open, changed: make(chan struct{})}
}

// Set opens or shuts the gate; one that was closed stays so.
func (g *gate) Set(open bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || open == (g.open != nil) {
		return nil
	}
	if !open {
		g.change(nil)
		return nil
	}
	l, err := net.Listen("tcp", g.address)
	if err != nil {
		return fmt.Errorf("open port %s again: %w", g.address, err)
	}
	g.change(l)
	return nil
}

// change wakes those who wait; g.mu is held.
func (g *gate) change(to net.Listener) {
	if g.open != nil {
		g.open.Close()
	}
	g.open = to
	close(g.changed)
	g.changed = make(chan struct{})
}

// Accept is that of net.Listener. Its connections are of type *connection.
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		open, changed, closed := g.open, g.changed, g.closed
		g.mu.Unlock()
		if closed {
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: g.addr, Err: net.ErrClosed}
		}
		if open == nil {
			<-changed
			continue
		}
		conn, err := open.Accept()
		if err == nil {
			return &connection{Conn: conn, born: time.Now()}, nil
		}
		if g.isOpen(open) {
			return nil, err
		} // else it was shut meanwhile, or closed for good
	}
}

// isOpen waits for the end of a change that is under way.
func (g *gate) isOpen(l net.Listener) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open == l
}

// Close shuts the gate for good.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return net.ErrClosed
	}
	g.closed = true
	g.change(nil)
	return nil
}

// Addr is the address, also while the gate is shut.
func (g *gate) Addr() net.Addr { return g.addr }
