package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDrainFailsHealthFirstAndServesOn(t *testing.T) {
	t.Parallel()
	r := startEdge(t, shop("endpoints", startPods(t, 2), nil), func(o *Options) { o.Drain = 1500 * time.Millisecond })
	requests := startLoad(t, r.url, "GET", 2, 5*time.Millisecond)
	r.until("a good health page", func(context.Context) error { return r.health(http.StatusOK) })
	start := time.Now()
	r.stop()
	r.until("a failing health page", func(context.Context) error { return r.health(http.StatusServiceUnavailable) })
	if response, err := get(r.plain + "/-/ready"); err != nil || response.StatusCode != 503 {
		t.Errorf("health page of the other frontend: %v, %v", response, err)
	}
	requests.so()
	requests.until(t, 100) // a balancer has seen it by then
	failures := requests.stop()
	failed(t, "after the health page failed", failures, total(requests.so()))
	if err := r.end(); err != nil {
		t.Errorf("Run = %v", err)
	}
	if took := time.Since(start); took < r.options.Drain {
		t.Errorf("ended after %s, before the drain of %s was over", took, r.options.Drain)
	}
	if _, err := get(r.url); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the end: %v, want a refused connection", err)
	}
}

func TestDrainEndsConnectionsWithAnAnswer(t *testing.T) {
	t.Parallel()
	r := startEdge(t, shop("endpoints", startPods(t, 1), nil), func(o *Options) { o.Drain = time.Second })
	c, err := dial(strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.conn.Close()
	r.until("a good health page", func(context.Context) error { return r.health(http.StatusOK) })
	if response, err := c.do("GET", "/", ""); err != nil || response.Close {
		t.Fatalf("before the drain: %v, %v; want an open connection", response, err)
	}
	r.stop()
	r.until("a failing health page", func(context.Context) error { return r.health(http.StatusServiceUnavailable) })
	if response, err := c.do("GET", "/", ""); err != nil || response.StatusCode != 200 || !response.Close {
		t.Errorf("while draining: %v, %v; want an answer that closes the connection", response, err)
	}
	if err := r.end(); err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestStopLetsARequestFinish(t *testing.T) {
	t.Parallel()
	slow := startPod(t, "slow")
	held := make(chan struct{})
	slow.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(held)
		time.Sleep(time.Second) // a slow app, not a wait
		slow.answer(w, r)
	})
	r := startEdge(t, shop("endpoints", []*pod{slow}, nil), nil)
	answered := make(chan error, 1)
	go func() {
		response, err := get(r.url)
		if err == nil && response.StatusCode != 200 {
			err = errors.New(response.Status)
		}
		answered <- err
	}()
	<-held
	if err := r.end(); err != nil {
		t.Errorf("Run = %v", err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
}

func TestRunFailsWhenHAProxyDies(t *testing.T) {
	t.Parallel()
	r := startEdge(t, shop("endpoints", nil, nil), nil)
	if err := r.haproxy.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-r.ended:
		if err == nil || !strings.Contains(err.Error(), "haproxy ended: signal: killed") {
			t.Errorf("Run = %v", err)
		}
		close(r.ended)
	case <-time.After(10 * time.Second):
		t.Error("Run goes on without HAProxy")
	}
}

func TestRefusedConfigurationKeepsTheFormer(t *testing.T) {
	t.Parallel()
	pods := startPods(t, 3)
	good := shop("endpoints", pods[:1], nil)
	r := startEdge(t, good, nil)
	first := r.worker()

	// The API would not let such a name through: here it stands for whatever
	// HAProxy does not accept.
	bad := shop("endpoints", pods[:1], nil)
	key := bad.Ingresses[0].Rules[0].App
	badKey := key
	badKey.Service = "sho p"
	bad.Ingresses[0].Rules = append(bad.Ingresses[0].Rules, ruleTo("other.example", badKey))
	r.source.set(bad)
	r.until("a report", func(context.Context) error {
		for _, p := range r.source.reported() {
			if p.Reason == "ConfigurationRefused" && strings.Contains(p.Message, "refuses line ") && strings.Contains(p.Message, "sho p") {
				return nil
			}
		}
		return fmt.Errorf("reported: %+v", r.source.reported())
	})
	r.serving(pods[:1]...)

	withMore := shop("endpoints", pods, nil) // endpoints change while the bad one is there
	bad.Apps[key] = withMore.Apps[key]
	r.source.set(bad)
	r.serving(pods...)
	if err := r.Reload(t.Context()); err != nil { // and a reload finds a good text
		t.Fatal(err)
	}
	r.serving(pods...)

	r.source.set(withMore)
	r.until("no more reports", func(context.Context) error {
		if p := r.source.reported(); len(p) > 0 {
			return fmt.Errorf("reported: %+v", p)
		}
		return nil
	})
	if r.worker() == first {
		t.Error("no reload at all") // the one above
	}
}
