package edge

import (
	"bufio"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"secondhop/edge/plan"
	"secondhop/edge/policy"
)

// with changes the only Ingress of a snapshot.
func with(s plan.Snapshot, change func(*plan.Ingress)) plan.Snapshot {
	s.Ingresses = append([]plan.Ingress(nil), s.Ingresses...)
	change(&s.Ingresses[0])
	return s
}

func TestRedispatchHidesARefusingServer(t *testing.T) {
	t.Parallel()
	// A server is DOWN after three failed checks, 4 to 6 s: so the one that is
	// closed right before is met by half of the requests.
	for _, redispatch := range []bool{true, false} {
		t.Run(map[bool]string{true: "on", false: "off"}[redispatch], func(t *testing.T) {
			t.Parallel()
			pods := startPods(t, 2)
			snapshot := shop("endpoints", pods, nil)
			snapshot = with(snapshot, func(i *plan.Ingress) { i.Redispatch = redispatch })
			r := startEdge(t, snapshot, nil)
			r.serving(pods...)
			pods[0].server.Close()
			requests := startLoad(t, r.url, "GET", 4, 4*time.Millisecond)
			time.Sleep(500 * time.Millisecond) // the load itself, not a wait
			failures := requests.stop()
			n := total(requests.so()) + len(failures)
			if redispatch {
				failed(t, "with a refusing server", failures, n)
			} else if requests.slowest < time.Second {
				// Without redispatch the same server is tried again a second later.
				t.Errorf("nothing took longer than %s of %d: the refusing server was not met", requests.slowest, n)
			}
		})
	}
}

// silent takes each request and closes the connection without an answer.
func silent(t testing.TB) (netip.AddrPort, *atomic.Int64) {
	t.Helper()
	listener := listenOn(t, ownHost(t)+":0")
	var requests atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				requests.Add(1)
			}
			conn.Close()
		}
	})
	t.Cleanup(func() { listener.Close(); wg.Wait() })
	return netip.MustParseAddrPort(listener.Addr().String()), &requests
}

// TestOnlySafeRequestsAreRepeated has one server that never answers, alone with a
// good one: what it has received must be sent again or not, by its method.
func TestOnlySafeRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	for method, repeated := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true, "POST": false, "PUT": false, "DELETE": false} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			good := startPod(t, "good")
			address, received := silent(t)
			snapshot := shop("endpoints", []*pod{good}, nil)
			key := snapshot.Ingresses[0].Rules[0].App
			app := snapshot.Apps[key]
			app.Endpoints = append(app.Endpoints, policy.Endpoint{Address: address, Ready: true})
			snapshot.Apps[key] = app
			r := startEdge(t, snapshot, nil)
			const n = 20
			answered := 0
			for range n {
				c, err := dial(r.options.Process.Bind)
				if err != nil {
					t.Fatal(err)
				}
				if response, err := c.do(method, "/", ""); err == nil && response.StatusCode == 200 {
					answered++
				}
				c.conn.Close()
			}
			lost := n - answered
			if received.Load() == 0 {
				t.Fatal("the silent server was not met")
			}
			if repeated && lost > 0 {
				t.Errorf("%d of %d lost, want them repeated elsewhere", lost, n)
			}
			if !repeated && (good.requests.Load() != int64(answered) || int64(lost) != received.Load()) {
				t.Errorf("%d answered, %d lost, %d received by the silent server, %d by the good one: something was sent twice",
					answered, lost, received.Load(), good.requests.Load())
			}
		})
	}
}
