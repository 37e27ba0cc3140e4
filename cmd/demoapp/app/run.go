package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"secondhop/agent"
)

// Ports are the addresses that an application listens on; Sink and Control are
// nil without one.
type Ports struct {
	App, Agent, Sink net.Listener
	Control          net.Listener // answers Change and Show
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
	control, err := net.Listen("unix", ControlSocket(c))
	if err != nil {
		ports.close()
		return Ports{}, fmt.Errorf("open the control socket: %w", err)
	}
	ports.Control = control
	return ports, nil
}

func (p Ports) close() {
	for _, l := range []net.Listener{p.App, p.Agent, p.Sink, p.Control} {
		if l != nil {
			l.Close()
		}
	}
}

// Run serves until ctx ends, then stops as the settings say. With StopExit it
// returns at once and leaves connections to be torn down by the end of the process.
func Run(ctx context.Context, c Config, ports Ports, log *slog.Logger) error {
	life, err := newLife(c, ports)
	if err != nil {
		ports.close()
		return err
	}
	defer context.AfterFunc(ctx, func() { life.stopping.Store(true) })()
	h := newHandler(c, life)
	served := make(chan error, 3)
	parts := 0
	serve := func(part func() error) {
		parts++
		go func() { served <- part() }()
	}
	serve(func() error { return serveApp(ctx, c, life, h, log) })
	if ports.Sink != nil {
		serve(func() error { return sink(ctx, ports.Sink) })
	}
	if ports.Control != nil {
		serve(func() error { return serveControl(ctx, ports.Control, life, h) })
	}
	select {
	case <-ctx.Done():
		if life.settings().Stop == StopExit {
			return nil
		}
	case err := <-served:
		return err // one part is broken, and the pod with it
	}
	var failures []error
	for range parts {
		failures = append(failures, <-served)
	}
	return errors.Join(failures...)
}

func newLife(c Config, ports Ports) (*life, error) {
	l := &life{agent: agent.New(), app: newGate(ports.App), polls: newGate(ports.Agent)}
	l.serveEarly = c.ServeBeforeReady || c.StartDelay == 0
	l.now.Store(newMode(c.Settings))
	return l, l.set(func(s Settings) (Settings, error) { return s, nil })
}

func serveApp(ctx context.Context, c Config, life *life, h *handler, log *slog.Logger) error {
	opts := agent.Options{
		Agent:    life.agent,
		Grace:    c.Grace,
		WarmUp:   life.warmUp(c.StartDelay),
		OnChange: func(s agent.State) { log.Info("agent", "state", s.String()) },
	}
	if c.Grace == 0 {
		opts.Grace = -1 // the agent's zero means its default
	}
	polls := &polls{gate: life.polls, oddLine: life.oddLine}
	err := agent.RunListeners(ctx, newServer(h), life.app, polls, opts)
	polls.odd.Wait()
	return err
}

func newServer(h *handler) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/readyz", h.serveReady)
	mux.HandleFunc("/count", h.serveCount)
	mux.HandleFunc("/posts", h.posts.servePosts)
	mux.HandleFunc("/duplicates", h.posts.serveDuplicates)
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute,
		ConnContext: withConnection, ConnState: h.life.connState,
	}
}
