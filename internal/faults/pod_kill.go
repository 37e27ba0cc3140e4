package faults

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"secondhop/clusters"
	"secondhop/internal/deploy"
	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// PodKill are the parameters of pod_kill.
type PodKill struct {
	Workload string `yaml:"workload" doc:"name of the workload; app is the one with the traffic"`
	Nodes    []int  `yaml:"nodes" doc:"numbers of the workers, from 1; none means all"`
	Count    int    `yaml:"count" doc:"so many containers of each worker; 0 means all"`
	Signal   string `yaml:"signal" doc:"KILL, or TERM for a container that stops in good order"`
}

// Validate says what is wrong with the parameters.
func (p PodKill) Validate() error {
	if p.Count < 0 {
		return fmt.Errorf("count %d of containers is negative", p.Count)
	}
	return oneOf("signal", &p.Signal, "KILL", "TERM")
}

func podKillKind() Kind {
	return newKind("pod_kill", "Kills the application's process in pods, whose objects stay; the API server is not asked.", PodKill{Signal: "KILL"},
		func(env Env, p PodKill) (Event, error) {
			app, err := env.app(p.Workload)
			if err != nil {
				return nil, err
			}
			nodes, err := env.workers(p.Nodes)
			if err != nil {
				return nil, err
			}
			return &kill{how: p, app: app, nodes: nodes, exec: env.Cluster}, nil
		})
}

type kill struct {
	how   PodKill
	app   *deploy.App
	nodes []clusters.Node
	exec  nodeExec

	applied time.Time
	victims map[string][]task // by node
}

func (k *kill) Name() string {
	return fmt.Sprintf("SIG%s for containers of %s", k.how.Signal, k.app.Spec.Name)
}

func (k *kill) Apply(ctx context.Context) error {
	k.victims = map[string][]task{}
	for _, node := range k.nodes {
		tasks, err := k.running(ctx, node.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", k.Name(), err)
		}
		if k.how.Count > 0 {
			tasks = tasks[:min(k.how.Count, len(tasks))]
		}
		k.victims[node.Name] = tasks
	}
	if k.count() == 0 {
		return notProvoked(k, "no such container runs", nil)
	}
	k.applied = time.Now()
	for node, tasks := range k.victims {
		for _, t := range tasks {
			if err := (runtime{k.exec, node}).signal(ctx, t, "SIG"+k.how.Signal); err != nil {
				return fmt.Errorf("%s: %w", k.Name(), err)
			}
		}
	}
	return nil
}

func (k *kill) running(ctx context.Context, node string) ([]task, error) {
	return runtime{k.exec, node}.running(ctx, containerOf(k.app.Spec.Namespace, appContainer, podNames(k.app.Workloads)))
}

// podNames is a regular expression for the names of the workloads' pods.
func podNames(workloads []kube.Workload) string {
	var names []string
	for _, workload := range workloads {
		names = append(names, regexp.QuoteMeta(workload.Name)+podSuffix(workload.Kind))
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// podSuffix is what a controller adds to the name of a workload.
func podSuffix(kind kube.WorkloadKind) string {
	switch kind {
	case kube.Deployment:
		return "-[0-9a-z]+-[0-9a-z]{5}"
	case kube.StatefulSet:
		return "-[0-9]+"
	}
	return "-[0-9a-z]{5}"
}

func (k *kill) count() int {
	n := 0
	for _, tasks := range k.victims {
		n += len(tasks)
	}
	return n
}

// Confirm waits until none of the processes is left.
func (k *kill) Confirm(ctx context.Context) (Outcome, error) {
	err := wait.Until(ctx, "the processes to end", podPeriod, func(ctx context.Context) error {
		for node, victims := range k.victims {
			now, err := k.running(ctx, node)
			if err != nil {
				return err
			}
			for _, t := range victims {
				if slices.Contains(now, t) {
					return fmt.Errorf("process %d runs on %s", t.pid, node)
				}
			}
		}
		return nil
	})
	switch {
	case err != nil && errors.Is(err, context.Canceled):
		return Outcome{}, err
	case err != nil:
		return Outcome{}, notProvoked(k, "the processes go on", err)
	}
	return Outcome{k.applied, time.Now(), fmt.Sprintf("%d containers killed", k.count())}, nil
}

// Undo has nothing to put back: the kubelets start the containers again.
func (k *kill) Undo(context.Context) error { return nil }
