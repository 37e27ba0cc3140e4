package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"secondhop/internal/deploy"
	"secondhop/internal/failure"
	"secondhop/internal/kube"
)

// Scale are the parameters of scale.
type Scale struct {
	Workload  string `yaml:"workload" doc:"name of the workload; app is the one with the traffic"`
	Replicas  *int   `yaml:"replicas" doc:"pods in all; where workers have pods of their own, evenly over those workers"`
	Placement []int  `yaml:"placement" doc:"pods on each worker, for workloads with a placement; workers beyond its end stay as they are"`
}

// Validate says what is wrong with the parameters.
func (p Scale) Validate() error {
	if (p.Replicas == nil) == (len(p.Placement) == 0) {
		return errors.New("give replicas or a placement")
	}
	for _, n := range append([]int{orZero(p.Replicas)}, p.Placement...) {
		if n < 0 {
			return fmt.Errorf("%d pods: a number of pods cannot be negative", n)
		}
	}
	return nil
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// replicas are the pods that each workload is to have.
func (p Scale) replicas(app *deploy.App, workers []string) (map[kube.Workload]int, error) {
	want := map[kube.Workload]int{}
	if p.Replicas != nil {
		for i, workload := range app.Workloads {
			want[workload] = (*p.Replicas + len(app.Workloads) - 1 - i) / len(app.Workloads)
		}
		return want, nil
	}
	if len(p.Placement) > len(workers) {
		return nil, failure.Inputf("placement %v names %d workers, the lab has %d", p.Placement, len(p.Placement), len(workers))
	}
	for i, pods := range p.Placement {
		workload := kube.Workload{Kind: app.Spec.Kind, Name: fmt.Sprintf("%s-%d", app.Spec.Name, i+1)}
		if !app.Has(workload) {
			if pods > 0 {
				return nil, failure.Inputf("placement %v: %s has no workload on worker %d, which needs a pod there from the start", p.Placement, app.Spec.Name, i+1)
			}
			continue
		}
		want[workload] = pods
	}
	return want, nil
}

func scaleKind() Kind {
	return newKind("scale", "Changes the number of pods of a workload.", Scale{},
		func(env Env, p Scale) (Event, error) {
			app, err := env.app(p.Workload)
			if err != nil {
				return nil, err
			}
			if app.Spec.Kind != kube.Deployment && app.Spec.Kind != kube.StatefulSet {
				return nil, failure.Inputf("%s is a %s, which has no number of pods to change", app.Spec.Name, app.Spec.Kind)
			}
			want, err := p.replicas(app, env.Cluster.WorkerNames())
			if err != nil {
				return nil, err
			}
			return newScaling("scaling of "+app.Spec.Name, env.Lab.Client, app.Spec.Namespace, want), nil
		})
}

// scaling changes numbers of pods.
type scaling struct {
	name      string
	client    *kube.Client
	namespace string
	want      map[kube.Workload]int

	applied time.Time
	before  map[kube.Workload]int
}

func newScaling(name string, client *kube.Client, namespace string, want map[kube.Workload]int) *scaling {
	return &scaling{name: name, client: client, namespace: namespace, want: want}
}

func (s *scaling) Name() string { return s.name }

func (s *scaling) Apply(ctx context.Context) error {
	s.before = map[kube.Workload]int{}
	s.applied = time.Now()
	changes := false
	for workload, want := range s.want {
		before, err := s.client.Scale(ctx, s.namespace, workload, want)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.before[workload] = before
		changes = changes || before != want
	}
	if !changes {
		return notProvoked(s, "there are as many pods already", nil)
	}
	return nil
}

// Confirm waits until there are as many ready pods as wanted and no others.
func (s *scaling) Confirm(ctx context.Context) (Outcome, error) {
	group, waiting := errgroup.WithContext(ctx)
	for workload := range s.want {
		group.Go(func() error { return s.client.WaitRollout(waiting, s.namespace, workload) })
	}
	if err := group.Wait(); err != nil {
		return Outcome{}, notProvoked(s, "the pods are not as many as wanted", err)
	}
	return Outcome{s.applied, time.Now(), fmt.Sprintf("from %d to %d pods", sum(s.before), sum(s.want))}, nil
}

func sum(pods map[kube.Workload]int) int {
	total := 0
	for _, n := range pods {
		total += n
	}
	return total
}

// Undo puts the old numbers back.
func (s *scaling) Undo(ctx context.Context) error {
	var failures []error
	for workload, before := range s.before {
		if _, err := s.client.Scale(ctx, s.namespace, workload, before); err != nil {
			failures = append(failures, fmt.Errorf("undo %s: %w", s.name, err))
		}
	}
	return errors.Join(failures...)
}
