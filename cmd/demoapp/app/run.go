package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"secondhop/agent"
)

// Ports are the addresses that an application listens on; Sink is nil without one.
type Ports struct {
	App, Agent, Sink net.Listener
}

// Listen opens the ports of c.
func Listen(c Config) (Ports, error) {
	var ports Ports
	for _, p := range []struct {
		port int
		into *net.Listener
	}{{c.Port, &ports.App}, {c.AgentPort, &ports.Agent}, {c.SinkPort, &ports.Sink}} {
		if p.port == 0 {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", p.port))
		if err != nil {
			ports.close()
			return Ports{}, fmt.Errorf("open port %d: %w", p.port, err)
		}
		*p.into = l
	}
	return ports, nil
}

func (p Ports) close() {
	for _, l := range []net.Listener{p.App, p.Agent, p.Sink} {
		if l != nil {
			l.Close()
		}
	}
}

// Run serves until ctx ends, then stops as c says. With StopExit it returns at
// once and leaves connections to be torn down by the end of the process.
func Run(ctx context.Context, c Config, ports Ports, log *slog.Logger) error {
	var ready atomic.Bool
	srv := newServer(c, &ready)
	opts := agent.Options{
		Grace:    c.Grace,
		WarmUp:   warmUp(c, &ready),
		OnChange: func(s agent.State) { log.Info("agent", "state", s.String()) },
	}
	if c.Grace == 0 {
		opts.Grace = -1 // the agent's zero means its default
	}
	served := make(chan error, 2)
	go func() { served <- agent.RunListeners(ctx, srv, ports.App, ports.Agent, opts) }()
	parts := 1
	if ports.Sink != nil {
		parts = 2
		go func() { served <- sink(ctx, ports.Sink) }()
	}
	if c.Stop == StopExit {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return err
		}
	}
	var failures []error
	for range parts {
		failures = append(failures, <-served)
	}
	return errors.Join(failures...)
}

func newServer(c Config, ready *atomic.Bool) *http.Server {
	h := newHandler(c, ready)
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/count", h.serveCount)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		// Its own readiness, not the agent's: with AGENT=never-ready the pod
		// must still be a regular endpoint of its Service.
		if !ready.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	})
	return &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute}
}

// warmUp waits for the start delay; the agent of a pod that is never ready stays
// in its warm-up until the end.
func warmUp(c Config, ready *atomic.Bool) func(context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(c.StartDelay)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		ready.Store(true)
		if c.Agent == AgentNeverReady {
			<-ctx.Done()
		}
		return nil
	}
}
