package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"secondhop/internal/edges"
)

// Reload has the edges of the given nodes reload their HAProxy, all at once;
// without nodes it is every edge.
func Reload(all *edges.Edges, nodes ...string) Event {
	return &reload{edges: all, nodes: nodes}
}

type reload struct {
	edges *edges.Edges
	nodes []string

	applied, done time.Time
	before        map[string]worker // by node
}

// worker is the HAProxy process that serves in an edge pod.
type worker struct{ pod, pid string }

func (r *reload) Name() string {
	if len(r.nodes) == 0 {
		return "reload of every HAProxy"
	}
	return "reload of HAProxy on " + strings.Join(r.nodes, ", ")
}

// Apply returns when the new workers serve, since that is how `edge reload` works.
func (r *reload) Apply(ctx context.Context) error {
	before, err := r.workers(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	r.before = before
	r.applied = time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for node, old := range before {
		group.Go(func() error {
			if err := r.edges.Reload(ctx, old.pod); err != nil {
				return fmt.Errorf("reload HAProxy on %s: %w", node, err)
			}
			return nil
		})
	}
	err = group.Wait()
	r.done = time.Now()
	return err
}

// Confirm checks that another process serves on every node.
func (r *reload) Confirm(ctx context.Context) (Outcome, error) {
	if len(r.before) == 0 {
		return Outcome{}, notProvoked(r, "no edge runs there", nil)
	}
	now, err := r.workers(ctx)
	if err != nil {
		return Outcome{}, fmt.Errorf("confirm the %s: %w", r.Name(), err)
	}
	var same []string
	for node, old := range r.before {
		if now[node].pid == old.pid {
			same = append(same, node)
		}
	}
	if len(same) > 0 {
		slices.Sort(same)
		return Outcome{}, notProvoked(r, "the same process serves on "+strings.Join(same, ", "), nil)
	}
	return Outcome{r.applied, r.done, fmt.Sprintf("%d reloaded", len(now))}, nil
}

// Undo has nothing to put back.
func (r *reload) Undo(context.Context) error { return nil }

// workers asks which process serves, on the event's nodes.
func (r *reload) workers(ctx context.Context) (map[string]worker, error) {
	return edges.All(ctx, r.edges, func(ctx context.Context, _, pod string) (worker, error) {
		stats, err := r.edges.StatsOf(ctx, pod)
		return worker{pod, stats.Worker}, err
	}, r.nodes...)
}

// IngressReload are the parameters of ingress_reload.
type IngressReload struct {
	Nodes []int `yaml:"nodes" doc:"numbers of the workers, from 1; none means all"`
}

func ingressReloadKind() Kind {
	return newKind("ingress_reload", "Reloads HAProxy on workers, all at once.", IngressReload{},
		func(env Env, p IngressReload) (Event, error) {
			nodes, err := env.workerNames(p.Nodes)
			if err != nil {
				return nil, err
			}
			return Reload(env.Lab.Edges, nodes...), nil
		})
}
