package loadgen

import (
	"sync"
	"time"

	"secondhop/loadgen/pace"
	"secondhop/loadgen/wire"
)

// clock is the run's: all times are since its start.
type clock struct {
	start     time.Time
	monotonic time.Duration // the same instant on CLOCK_MONOTONIC
}

func startClock() clock { return clock{start: time.Now(), monotonic: pace.Monotonic()} }

func (c clock) now() time.Duration               { return time.Since(c.start) }
func (c clock) at(since time.Duration) time.Time { return c.start.Add(since) }

// connections are those that are open, so that a run can be cut off.
type connections struct {
	mu      sync.Mutex
	open    map[*wire.Conn]struct{}
	opened  uint64
	peak    int
	aborted bool
}

func (c *connections) add(conn *wire.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = make(map[*wire.Conn]struct{})
	}
	c.open[conn] = struct{}{}
	c.opened++
	c.peak = max(c.peak, len(c.open))
	if c.aborted {
		_ = conn.Close()
	}
}

func (c *connections) remove(conn *wire.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// abort closes all connections, now and in the future: whoever reads from one
// finds it closed at once.
func (c *connections) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted = true
	for conn := range c.open {
		_ = conn.Close()
	}
}

func (c *connections) counts() (opened uint64, peak int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened, c.peak
}
