// Package edge is an ingress with HAProxy inside: it watches Ingress objects and
// what they refer to, writes HAProxy's configuration, and keeps the running
// HAProxy and the text on disk the same at every instant, so that a reload, which
// only knows the text, loses nothing.
package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"secondhop/edge/plan"
	"secondhop/edge/process"
	"secondhop/edge/render"
	"secondhop/edge/runtime"
)

// Source tells what to serve.
type Source interface {
	// Changed has a value after the snapshot has changed.
	Changed() <-chan struct{}
	Snapshot() (plan.Snapshot, []plan.Problem)
}

// Reporter hears of problems, all that there are at each change.
type Reporter interface {
	Report(problems []plan.Problem)
}

// Options is how an Edge runs.
type Options struct {
	RunDir    string // for sockets and files; only this process may read it
	Program   string // the haproxy binary
	Process   render.Process
	Addresses render.Addresses
	// Drain is how long to serve on with a failing health page before stopping.
	Drain time.Duration
	// StopLimit bounds the wait for requests in flight after that.
	StopLimit time.Duration
	Log       *slog.Logger
}

// Edge is one ingress. Make it with New, then Run it once.
type Edge struct {
	options Options
	source  Source
	report  Reporter
	files   files
	client  runtime.Client
	planner plan.Planner

	mu      sync.Mutex // one change of HAProxy at a time
	haproxy *process.HAProxy
	running render.Config // what HAProxy runs, endpoints up to date
	runs    []byte        // its structure: the text without addresses
	refused []byte        // the structure that HAProxy did not accept, if the last one
	problem *plan.Problem // and why
	healthy bool          // the health page has been opened
}

// files are the paths in the run directory.
type files struct{ config, candidate, state, stats, master, admin string }

func filesIn(dir string) files {
	in := func(name string) string { return filepath.Join(dir, name) }
	return files{
		config: in("haproxy.cfg"), candidate: in("candidate.cfg"), state: in("haproxy.state"),
		stats: in("haproxy.sock"), master: in("master.sock"), admin: in("edge.sock"),
	}
}

// New makes an Edge that serves what source tells.
func New(options Options, source Source, report Reporter) *Edge {
	e := &Edge{options: options, source: source, report: report, files: filesIn(options.RunDir)}
	e.options.Process.StatsSocket = e.files.stats
	e.options.Process.StateFile = e.files.state
	e.client = runtime.Client{Socket: e.files.stats}
	return e
}

// Run serves until ctx ends, then drains and stops; nil says that this went well.
// It fails when HAProxy cannot be started or ends by itself.
func (e *Edge) Run(ctx context.Context) error {
	if err := os.MkdirAll(e.options.RunDir, 0o700); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	if err := e.start(ctx); err != nil {
		return err
	}
	admin, err := e.listenAdmin(ctx)
	if err != nil {
		return errors.Join(err, e.haproxy.Stop(0))
	}
	defer admin.close()
	if err := e.serve(ctx); err != nil {
		return err
	}
	return e.drain()
}

// serve follows changes until ctx ends or HAProxy does.
func (e *Edge) serve(ctx context.Context) error {
	retry := time.NewTicker(retryPeriod)
	defer retry.Stop()
	inSync := true
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.haproxy.Done():
			return fmt.Errorf("edge: %w", e.haproxy.Err())
		case <-e.source.Changed():
		case <-retry.C:
			if inSync {
				continue
			}
		}
		err := e.Sync(ctx)
		if inSync = err == nil; !inSync && ctx.Err() == nil {
			e.options.Log.Error("not in sync", "error", err)
		}
	}
}

// retryPeriod is when a change that HAProxy did not take is tried again.
const retryPeriod = time.Second

// text renders a configuration.
func text(c render.Config, addresses render.Addresses) ([]byte, error) {
	var out bytes.Buffer
	if err := render.Write(&out, c, addresses); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
