package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// APIServerStop are the parameters of apiserver_stop.
type APIServerStop struct{}

func apiserverStopKind() Kind {
	return newKind("apiserver_stop", "Freezes the API server until it is undone. Its kubelet kills it after about 80 s.", APIServerStop{},
		func(env Env, _ APIServerStop) (Event, error) {
			return &frozenTasks{
				name: "stop of the API server", filter: containerOf("kube-system", "kube-apiserver", ".*"),
				runtimes: []runtime{{env.Cluster, env.Cluster.ControlPlane().Name}},
			}, nil
		})
}

// KubeproxyPause are the parameters of kubeproxy_pause.
type KubeproxyPause struct {
	Nodes []int `yaml:"nodes" doc:"numbers of the workers, from 1; none means all"`
}

func kubeproxyPauseKind() Kind {
	return newKind("kubeproxy_pause", "Freezes kube-proxy on workers until it is undone: their rules stay as they are.", KubeproxyPause{},
		func(env Env, p KubeproxyPause) (Event, error) {
			nodes, err := env.workerNames(p.Nodes)
			if err != nil {
				return nil, err
			}
			f := &frozenTasks{name: "pause of kube-proxy", filter: containerOf("kube-system", "kube-proxy", ".*")}
			for _, node := range nodes {
				f.runtimes = append(f.runtimes, runtime{env.Cluster, node})
			}
			return f, nil
		})
}

// frozenTasks stops containers where they are, by signals on their nodes.
type frozenTasks struct {
	name, filter string
	runtimes     []runtime

	applied time.Time
	frozen  []frozenTask
}

type frozenTask struct {
	runtime runtime
	task    task
}

func (f *frozenTasks) Name() string { return f.name }

func (f *frozenTasks) Apply(ctx context.Context) error {
	f.applied = time.Now()
	for _, r := range f.runtimes {
		tasks, err := r.running(ctx, f.filter)
		if err != nil {
			return fmt.Errorf("%s on %s: %w", f.name, r.node, err)
		}
		for _, t := range tasks {
			f.frozen = append(f.frozen, frozenTask{r, t})
			if err := r.signal(ctx, t, "SIGSTOP"); err != nil {
				return fmt.Errorf("%s on %s: %w", f.name, r.node, err)
			}
		}
	}
	return nil
}

// Confirm looks at the state of every process.
func (f *frozenTasks) Confirm(ctx context.Context) (Outcome, error) {
	if len(f.frozen) < len(f.runtimes) {
		return Outcome{}, notProvoked(f, fmt.Sprintf("%d of %d nodes run it", len(f.frozen), len(f.runtimes)), nil)
	}
	for _, one := range f.frozen {
		stopped, err := one.runtime.stopped(ctx, one.task.pid)
		if err != nil || !stopped {
			return Outcome{}, notProvoked(f, "it runs on "+one.runtime.node, err)
		}
	}
	return Outcome{f.applied, time.Now(), fmt.Sprintf("%d processes are stopped", len(f.frozen))}, nil
}

// Undo lets every process that is still there go on.
func (f *frozenTasks) Undo(ctx context.Context) error {
	var failures []error
	for _, one := range f.frozen {
		err := one.runtime.signal(ctx, one.task, "SIGCONT")
		if err == nil {
			continue
		}
		if now, listed := one.runtime.running(ctx, "id=="+one.task.container); listed == nil && len(now) == 0 {
			continue // its kubelet has killed it
		}
		failures = append(failures, fmt.Errorf("undo the %s on %s: %w", f.name, one.runtime.node, err))
	}
	return errors.Join(failures...)
}
