package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"
)

// Defaults of Options.
const (
	DefaultAddress         = ":8081"
	DefaultGrace           = 6 * time.Second
	DefaultShutdownTimeout = 10 * time.Second
)

// Options says how Run treats a server. The zero value is right for most.
type Options struct {
	// Agent is the state to answer for; nil makes a new one. Pass one to set
	// the weight, or to serve ReadinessHandler beside the application.
	Agent *Agent
	// Address is where polls are answered; "" is DefaultAddress.
	Address string
	// Grace is how long to serve after SIGTERM before closing; 0 is
	// DefaultGrace. Make it five polls of the ingress or more. A negative grace
	// is none, for tests and for pods that no slot ever reaches.
	Grace time.Duration
	// ShutdownTimeout bounds the wait for requests under way after the grace;
	// 0 is DefaultShutdownTimeout.
	ShutdownTimeout time.Duration
	// WarmUp is the readiness hook: it runs once the server accepts connections,
	// and the pod turns Ready when it returns nil. Its error stops the server
	// and is returned by Run. Its context ends when draining begins; an error
	// from then on counts as giving up, not as failure. nil is ready at once.
	WarmUp func(context.Context) error
	// OnChange is told of each state entered, for logs and metrics; may be nil.
	OnChange func(State)
}

func (o Options) withDefaults() Options {
	if o.Agent == nil {
		o.Agent = New()
	}
	if o.Address == "" {
		o.Address = DefaultAddress
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.ShutdownTimeout == 0 {
		o.ShutdownTimeout = DefaultShutdownTimeout
	}
	if o.WarmUp == nil {
		o.WarmUp = func(context.Context) error { return nil }
	}
	if o.OnChange == nil {
		o.OnChange = func(State) {}
	}
	return o
}

// Run serves srv and the agent until SIGTERM, SIGINT or the end of ctx, then
// drains: 0 % at once, serving goes on for the grace, srv shuts down gracefully,
// and the agent, which answered all the while, closes last. It returns nil after
// such a stop, and an error when a port cannot be opened, a server fails, the
// warm-up fails, or requests were still under way when ShutdownTimeout ended.
func Run(ctx context.Context, srv *http.Server, opts Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	address := srv.Addr
	if address == "" {
		address = ":http"
	}
	app, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("open the application's port: %w", err)
	}
	opts = opts.withDefaults()
	polls, err := net.Listen("tcp", opts.Address)
	if err != nil {
		app.Close()
		return fmt.Errorf("open the agent's port: %w", err)
	}
	return RunListeners(ctx, srv, app, polls, opts)
}

// RunListeners is Run on listeners that are open already and without signals:
// draining begins when ctx ends. It closes both listeners.
func RunListeners(ctx context.Context, srv *http.Server, app, polls net.Listener, opts Options) error {
	opts = opts.withDefaults()
	failed := make(chan error, 3)
	agentCtx, stopAgent := context.WithCancel(context.WithoutCancel(ctx))
	agentDone := make(chan struct{})
	go func() {
		defer close(agentDone)
		failed <- wrap("serve the agent", opts.Agent.Serve(agentCtx, polls))
	}()
	defer func() { stopAgent(); <-agentDone }()

	appDone := make(chan struct{})
	go func() {
		defer close(appDone)
		if err := srv.Serve(app); !errors.Is(err, http.ErrServerClosed) {
			failed <- wrap("serve the application", err)
		}
	}()
	defer func() { <-appDone }()

	warmCtx, stopWarm := context.WithCancel(ctx)
	warmed := make(chan struct{})
	go func() {
		defer close(warmed)
		failed <- warmUp(warmCtx, opts)
	}()
	defer func() { stopWarm(); <-warmed }()
	return untilDrained(ctx, srv, opts, failed)
}

func warmUp(ctx context.Context, opts Options) error {
	opts.OnChange(Starting)
	err := opts.WarmUp(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if opts.Agent.SetReady() {
		opts.OnChange(Ready)
	}
	return nil
}

// untilDrained waits for the end of ctx or a failure, then stops srv. Nothing is
// gained by grace after a failure: the pod is broken, and others should take over.
func untilDrained(ctx context.Context, srv *http.Server, opts Options, failed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			opts.Agent.Drain()
			opts.OnChange(Draining)
			pause(context.WithoutCancel(ctx), opts.Grace)
			return shutDown(ctx, srv, opts)
		case err := <-failed:
			if err != nil {
				opts.Agent.Drain()
				opts.OnChange(Draining)
				return errors.Join(err, shutDown(ctx, srv, opts))
			}
		}
	}
}

// shutDown closes the listener and idle connections, and waits for the others.
func shutDown(ctx context.Context, srv *http.Server, opts Options) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.ShutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down with requests under way: %w", err), srv.Close())
	}
	return nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
