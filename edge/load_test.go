package edge

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"secondhop/internal/wait"
)

// load is a few keep-alive clients that never rest for long, until stopped.
type load struct {
	stopping chan struct{}
	wg       sync.WaitGroup
	mu       sync.Mutex
	served   map[string]int // answers by server
	failures []string
	slowest  time.Duration
}

// startLoad starts clients on url, each sending a request every pause at most.
func startLoad(t testing.TB, url, method string, clients int, pause time.Duration) *load {
	t.Helper()
	l := &load{stopping: make(chan struct{}), served: map[string]int{}}
	address := strings.TrimPrefix(url, "http://")
	for range clients {
		l.wg.Go(func() { l.run(address, method, pause) })
	}
	return l
}

func (l *load) run(address, method string, pause time.Duration) {
	ticks := time.NewTicker(pause)
	defer ticks.Stop()
	var c *client
	defer func() {
		if c != nil {
			c.conn.Close()
		}
	}()
	for {
		select {
		case <-l.stopping:
			return
		case <-ticks.C:
		}
		if c != nil && c.closed() { // the other side has said so before we sent anything
			c.conn.Close()
			c = nil
		}
		start := time.Now()
		var response *http.Response
		var err error
		if c == nil {
			c, err = dial(address)
		}
		if err == nil {
			response, err = c.do(method, "/", "")
		}
		l.note(response, err, time.Since(start))
		if c != nil && (err != nil || response.Close) {
			c.conn.Close()
			c = nil
		}
	}
}

func (l *load) note(response *http.Response, err error, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	switch {
	case err != nil:
		l.failures = append(l.failures, err.Error())
	case response.StatusCode != http.StatusOK:
		l.failures = append(l.failures, response.Status)
	default:
		l.served[response.Header.Get("X-Server")]++
	}
}

// so returns what was served since the last call, and forgets it.
func (l *load) so() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	served := l.served
	l.served = map[string]int{}
	return served
}

// until waits until n requests were answered since the last call of so.
func (l *load) until(t testing.TB, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := wait.Until(ctx, fmt.Sprint(n, " answers"), 5*time.Millisecond, func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if sum := total(l.served); sum < n {
			return fmt.Errorf("%d so far, failures: %v", sum, l.failures)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// stop ends the clients and returns all failures.
func (l *load) stop() []string {
	close(l.stopping)
	l.wg.Wait()
	return l.failures
}

// closed reports whether the other side has closed the idle connection.
func (c *client) closed() bool {
	raw, err := c.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = err != syscall.EAGAIN // an end, an error, or bytes that nobody asked for
		return true
	})
	return closed || err != nil
}

func total(served map[string]int) int {
	sum := 0
	for _, n := range served {
		sum += n
	}
	return sum
}

// failed formats a bound for a count of none: with 0 of n, more than 3 in n fail
// in truth with a probability of 5 % only.
func failed(t testing.TB, what string, failures []string, n int) {
	t.Helper()
	t.Logf("%s: %d of %d failed (at 95 %%: fewer than %.3g %%)", what, len(failures), n, 300/float64(n))
	if len(failures) > 0 {
		t.Errorf("%s: %d of %d failed, the first: %s", what, len(failures), n, fmt.Sprint(failures[:min(3, len(failures))]))
	}
}
