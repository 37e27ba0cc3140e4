package edge

import (
	"context"
	"fmt"
	"time"

	"secondhop/edge/render"
)

// Reload has HAProxy start a new worker on the present configuration. It returns
// when the new one serves and was seen to have every server as it should be.
func (e *Edge) Reload(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reload(ctx)
}

func (e *Edge) reload(ctx context.Context) error {
	start := time.Now()
	// A new worker knows the text and this file only. The file has what agents and
	// checks have found out: without it every slot would be closed until its next poll.
	_, state, err := e.client.State(ctx)
	if err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	if err := replaceFile(e.files.state, []byte(state)); err != nil {
		return fmt.Errorf("reload: save server state: %w", err)
	}
	if err := e.haproxy.Reload(ctx); err != nil {
		return err
	}
	e.options.Log.Info("reloaded", "took", time.Since(start).Round(time.Millisecond))
	if e.options.Addresses == render.RuntimeOnly {
		return nil // the point is that nobody looks
	}
	if err := e.settle(ctx); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	return nil
}

// setHealthy opens or closes the health page of both frontends. The state of its
// server is handed on by reloads like that of any other.
func (e *Edge) setHealthy(ctx context.Context, healthy bool) error {
	state := "maint"
	if healthy {
		state = "ready"
	}
	_, err := e.client.Do(ctx, fmt.Sprintf("set server %s/%s state %s", render.HealthBackend, render.HealthServer, state))
	return err
}

// drain tells balancers to go elsewhere, serves on until they have, and then lets
// HAProxy finish what it has.
func (e *Edge) drain() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.options.Log.Info("draining", "for", e.options.Drain)
	ctx := context.Background() // that of Run has ended: this is why we are here
	if err := e.setHealthy(ctx, false); err != nil {
		e.options.Log.Error("health page stays as it is", "error", err)
	}
	select {
	case <-time.After(e.options.Drain):
	case <-e.haproxy.Done():
		return fmt.Errorf("edge: while draining: %w", e.haproxy.Err())
	}
	return e.haproxy.Stop(e.options.StopLimit)
}
