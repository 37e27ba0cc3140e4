package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"secondhop/internal/wait"
)

// KubeproxyRestart are the parameters of kubeproxy_restart.
type KubeproxyRestart struct {
	Nodes []int `yaml:"nodes" doc:"numbers of the workers, from 1; none means all"`
}

func kubeproxyRestartKind() Kind {
	return newKind("kubeproxy_restart", "Ends kube-proxy on workers; their kubelets start it again.", KubeproxyRestart{},
		func(env Env, p KubeproxyRestart) (Event, error) {
			nodes, err := env.workerNames(p.Nodes)
			if err != nil {
				return nil, err
			}
			r := &proxyRestart{}
			for _, node := range nodes {
				r.runtimes = append(r.runtimes, runtime{env.Cluster, node})
			}
			return r, nil
		})
}

type proxyRestart struct {
	runtimes []runtime

	applied time.Time
	before  map[string]string // container by node
}

func (r *proxyRestart) Name() string {
	return fmt.Sprintf("restart of kube-proxy on %d nodes", len(r.runtimes))
}

func (r *proxyRestart) filter() string { return containerOf("kube-system", "kube-proxy", ".*") }

func (r *proxyRestart) Apply(ctx context.Context) error {
	r.applied, r.before = time.Now(), map[string]string{}
	for _, node := range r.runtimes {
		tasks, err := node.running(ctx, r.filter())
		if err != nil {
			return fmt.Errorf("%s: %s: %w", r.Name(), node.node, err)
		}
		for _, t := range tasks {
			if err := node.signal(ctx, t, "SIGTERM"); err != nil {
				return fmt.Errorf("%s: %s: %w", r.Name(), node.node, err)
			}
			r.before[node.node] = t.container
		}
	}
	return nil
}

// Confirm waits until another kube-proxy runs on every node.
func (r *proxyRestart) Confirm(ctx context.Context) (Outcome, error) {
	if len(r.before) < len(r.runtimes) {
		return Outcome{}, notProvoked(r, fmt.Sprintf("%d of %d nodes run it", len(r.before), len(r.runtimes)), nil)
	}
	for _, node := range r.runtimes {
		err := wait.Until(ctx, "another kube-proxy on "+node.node, podPeriod, func(ctx context.Context) error {
			tasks, err := node.running(ctx, r.filter())
			if err != nil {
				return err
			}
			for _, t := range tasks {
				if t.container != r.before[node.node] {
					return nil
				}
			}
			return errors.New("none yet")
		})
		if err != nil {
			return Outcome{}, notProvoked(r, "it was not started again", err)
		}
	}
	return Outcome{r.applied, time.Now(), fmt.Sprintf("%d started again", len(r.before))}, nil
}

// Undo has nothing to put back.
func (r *proxyRestart) Undo(context.Context) error { return nil }
