package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"secondhop/edge/plan"
	"secondhop/edge/process"
	"secondhop/edge/render"
)

// start starts HAProxy on the first snapshot, or without routes if HAProxy does
// not accept it.
func (e *Edge) start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := os.WriteFile(e.files.state, nil, 0o600); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	wished, problems := e.wish()
	structure, err := e.accept(ctx, wished)
	if e.refuse(structure, err) {
		wished = render.Config{Process: e.options.Process}
		structure, err = e.accept(ctx, wished)
	}
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	e.running, e.runs = wished, structure
	paths := process.Paths{Program: e.options.Program, Config: e.files.config, MasterSocket: e.files.master, StatsSocket: e.files.stats}
	if e.haproxy, err = process.Start(ctx, paths, e.options.Log); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	e.tell(problems)
	if err := errors.Join(e.settle(ctx), e.open(ctx)); err != nil {
		return errors.Join(fmt.Errorf("edge: %w", err), e.haproxy.Stop(0))
	}
	return nil
}

// settle brings the servers that run in line with those wished.
func (e *Edge) settle(ctx context.Context) error {
	sent, err := e.client.Reconcile(ctx, e.running.Backends)
	if sent > 0 {
		e.options.Log.Info("servers set", "commands", sent)
	}
	return err
}

// open opens the health page, the first time that everything asked for is served.
func (e *Edge) open(ctx context.Context) error {
	if e.healthy || e.problem != nil {
		return nil
	}
	err := e.setHealthy(ctx, true)
	e.healthy = err == nil
	return err
}

// Sync makes HAProxy serve the present snapshot: through the runtime API and in
// the text when only endpoints have changed, else by a reload.
func (e *Edge) Sync(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	wished, problems := e.wish()
	structure, err := text(wished, render.RuntimeOnly)
	if err != nil {
		e.refuse(nil, &process.RefusedError{Complaint: err.Error()})
	}
	// Endpoints first, on what runs: the state that is handed to a new worker must
	// agree with its text.
	failed := e.update(ctx, wished)
	switch {
	case failed != nil || err != nil:
	case bytes.Equal(structure, e.runs):
		e.refused, e.problem = nil, nil
		failed = e.open(ctx)
	case e.problem != nil && bytes.Equal(structure, e.refused):
		// HAProxy has seen this one
	default:
		failed = e.restructure(ctx, wished)
	}
	e.tell(problems)
	return failed
}

// wish is the configuration for the present snapshot.
func (e *Edge) wish() (render.Config, []plan.Problem) {
	snapshot, problems := e.source.Snapshot()
	routes, backends, more := e.planner.Plan(snapshot)
	return render.Config{Process: e.options.Process, Routes: routes, Backends: backends}, append(problems, more...)
}

// tell reports problems together with a refused configuration.
func (e *Edge) tell(problems []plan.Problem) {
	if e.problem != nil {
		problems = append(problems, *e.problem)
	}
	e.report.Report(problems)
}

// restructure reloads HAProxy on a configuration of another structure, if it
// accepts that; if not, it goes on with what it has.
func (e *Edge) restructure(ctx context.Context, wished render.Config) error {
	structure, err := e.accept(ctx, wished)
	if e.refuse(structure, err) {
		return nil
	}
	if err != nil {
		return err
	}
	former := e.running
	e.running = wished
	if err := e.reload(ctx); err != nil {
		e.running = former
		return errors.Join(err, e.write(former))
	}
	e.runs = structure
	return e.open(ctx)
}

// accept checks a configuration, makes it the one on disk and returns its structure.
func (e *Edge) accept(ctx context.Context, c render.Config) ([]byte, error) {
	config, err := text(c, e.options.Addresses)
	if err != nil {
		return nil, &process.RefusedError{Complaint: err.Error()}
	}
	structure, err := text(c, render.RuntimeOnly)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(e.files.candidate, config, 0o600); err != nil {
		return nil, err
	}
	if err := process.Check(ctx, e.options.Program, e.files.candidate); err != nil {
		return structure, err
	}
	return structure, os.Rename(e.files.candidate, e.files.config)
}

// refuse notes that HAProxy does not accept a structure, if that is what err says.
func (e *Edge) refuse(structure []byte, err error) bool {
	e.refused, e.problem = nil, nil
	var refused *process.RefusedError
	if !errors.As(err, &refused) {
		return false
	}
	e.refused = structure
	e.problem = &plan.Problem{Reason: "ConfigurationRefused", Message: refused.Error() + "; the former one is kept"}
	return true
}

// write replaces the configuration on disk in one step: HAProxy may read it at
// any time.
func (e *Edge) write(c render.Config) error {
	config, err := text(c, e.options.Addresses)
	if err != nil {
		return err
	}
	return replaceFile(e.files.config, config)
}

func replaceFile(path string, content []byte) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// update gives the endpoints of wished to the running configuration: text first,
// then HAProxy, so that whoever reloads in between gets the newer ones.
func (e *Edge) update(ctx context.Context, wished render.Config) error {
	before := e.running
	e.running = graft(before, wished)
	if err := e.write(e.running); err != nil {
		return err
	}
	if e.options.Addresses == render.RuntimeOnly {
		return e.client.Apply(ctx, before.Backends, e.running.Backends)
	}
	return e.settle(ctx)
}

// graft is the running configuration with the wished endpoints, as far as there
// are places for them: it needs no reload.
func graft(running, wished render.Config) render.Config {
	pools := make(map[string]render.Backend, len(wished.Backends))
	for _, b := range wished.Backends {
		pools[b.Name] = b
	}
	backends := make([]render.Backend, len(running.Backends))
	for i, b := range running.Backends {
		if w, ok := pools[b.Name]; ok && len(w.Servers) >= len(b.Servers) && w.Track == b.Track {
			b.Servers = w.Servers[:len(b.Servers)]
		}
		backends[i] = b
	}
	running.Backends = backends
	return running
}
