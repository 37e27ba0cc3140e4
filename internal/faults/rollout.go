package faults

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	"golang.org/x/sync/errgroup"

	"secondhop/internal/kube"
)

// RestartAll restarts Deployments of a namespace, all at once.
func RestartAll(client *kube.Client, namespace string, deployments ...string) Event {
	r := &restart{client: client, namespace: namespace}
	for _, name := range deployments {
		r.workloads = append(r.workloads, kube.Workload{Kind: kube.Deployment, Name: name})
	}
	r.name = "restart of " + strings.Join(deployments, ", ")
	return r
}

// RestartUsher restarts the operator, which lives in the given namespace.
func RestartUsher(client *kube.Client, namespace string) Event {
	return &restart{
		name: "restart of usher", client: client, namespace: namespace,
		workloads: []kube.Workload{{Kind: kube.Deployment, Name: "usher"}},
	}
}

// RolloutEdge replaces the edge's pods, node by node as its DaemonSet says.
func RolloutEdge(client *kube.Client, namespace string) Event {
	return &restart{
		name: "roll-out of the edge", client: client, namespace: namespace,
		workloads: []kube.Workload{{Kind: kube.DaemonSet, Name: "edge"}},
	}
}

// restart replaces every pod of workloads.
type restart struct {
	name      string
	client    *kube.Client
	namespace string
	workloads []kube.Workload

	applied time.Time
	before  map[string]string // names of the pods that are to go, by UID
}

func (r *restart) Name() string { return r.name }

func (r *restart) Apply(ctx context.Context) error {
	r.before = map[string]string{}
	for _, workload := range r.workloads {
		pods, err := r.client.WorkloadPods(ctx, r.namespace, workload)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for _, pod := range pods {
			r.before[string(pod.UID)] = pod.Name
		}
	}
	r.applied = time.Now()
	for _, workload := range r.workloads {
		if err := r.client.Restart(ctx, r.namespace, workload); err != nil {
			return err
		}
	}
	return nil
}

// Confirm waits for the end of every roll-out and checks that none of the pods of
// before is left.
func (r *restart) Confirm(ctx context.Context) (Outcome, error) {
	if len(r.before) == 0 {
		return Outcome{}, notProvoked(r, "there was no pod to restart", nil)
	}
	group, waiting := errgroup.WithContext(ctx)
	for _, workload := range r.workloads {
		group.Go(func() error { return r.client.WaitRollout(waiting, r.namespace, workload) })
	}
	if err := group.Wait(); err != nil {
		return Outcome{}, fmt.Errorf("%s did not come to its end: %w", r.name, err)
	}
	done := time.Now()
	for _, workload := range r.workloads {
		pods, err := r.client.WorkloadPods(ctx, r.namespace, workload)
		if err != nil {
			return Outcome{}, fmt.Errorf("confirm the %s: %w", r.name, err)
		}
		if left := r.unchanged(pods); len(left) > 0 {
			return Outcome{}, notProvoked(r, "still there: "+strings.Join(left, ", "), nil)
		}
	}
	return Outcome{r.applied, done, fmt.Sprintf("%d pods replaced", len(r.before))}, nil
}

func (r *restart) unchanged(pods []corev1.Pod) []string {
	var left []string
	for _, pod := range pods {
		if name, old := r.before[string(pod.UID)]; old {
			left = append(left, name)
		}
	}
	return left
}

// Undo has nothing to put back: the pods are of the same kind as before.
func (r *restart) Undo(context.Context) error { return nil }

// RestartOneByOne restarts a Deployment one pod at a time: each must be gone
// before the next one starts. Its own way of rolling is put back by Undo.
func RestartOneByOne(client *kube.Client, namespace, deployment string) Event {
	all := RestartAll(client, namespace, deployment).(*restart)
	all.name = "restart of " + deployment + ", one pod at a time"
	return &oneByOne{restart: all, deployment: deployment}
}

type oneByOne struct {
	*restart
	deployment string
	strategy   *appsv1.DeploymentStrategy // as it was
}

func (o *oneByOne) Apply(ctx context.Context) error {
	one, none := intstr.FromInt32(1), intstr.FromInt32(0)
	err := o.setStrategy(ctx, appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &one},
	})
	if err != nil {
		return err
	}
	return o.restart.Apply(ctx)
}

func (o *oneByOne) Undo(ctx context.Context) error {
	if o.strategy == nil {
		return nil
	}
	return o.setStrategy(ctx, *o.strategy)
}

// setStrategy remembers the strategy that it finds first.
func (o *oneByOne) setStrategy(ctx context.Context, strategy appsv1.DeploymentStrategy) error {
	deployments := o.client.Typed.AppsV1().Deployments(o.namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		d, err := deployments.Get(ctx, o.deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if o.strategy == nil {
			o.strategy = d.Spec.Strategy.DeepCopy()
		}
		d.Spec.Strategy = strategy
		_, err = deployments.Update(ctx, d, metav1.UpdateOptions{FieldManager: kube.FieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("set how Deployment %s/%s rolls: %w", o.namespace, o.deployment, err)
	}
	return nil
}

// Pacing is how much of a target is replaced at a time.
type Pacing string

// The paces of a roll-out.
const (
	Together Pacing = "together"   // every Deployment at once, each as its strategy says
	OneByOne Pacing = "one-by-one" // a pod at a time: gone before the next one starts
)

// Rollout are the parameters of rollout.
type Rollout struct {
	Target string `yaml:"target" doc:"what is replaced: app, usher, ingress or the name of a workload"`
	Pacing Pacing `yaml:"pacing" doc:"together, or one-by-one: each pod is gone before the next one starts"`
}

// Validate says what is wrong with the parameters.
func (p Rollout) Validate() error {
	if p.Pacing != Together && p.Pacing != OneByOne {
		return fmt.Errorf("pacing %q: want %s or %s", p.Pacing, Together, OneByOne)
	}
	return nil
}

func rolloutKind() Kind {
	return newKind("rollout", "Replaces every pod of a target, as a restart does.", Rollout{Target: targetApp, Pacing: Together},
		func(env Env, p Rollout) (Event, error) {
			t, err := env.target(p.Target)
			if err != nil {
				return nil, err
			}
			if p.Pacing == OneByOne {
				return RestartOneByOne(env.Lab.Client, t.namespace, t.workloads[0].Name), nil
			}
			return &restart{name: "restart of " + t.name, client: env.Lab.Client, namespace: t.namespace, workloads: t.workloads}, nil
		})
}
