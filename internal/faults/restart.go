package faults

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"secondhop/internal/kube"
)

// RestartAll restarts workloads of a namespace, all at once.
func RestartAll(client *kube.Client, namespace string, workloads ...kube.Workload) Event {
	return restartOf(client, namespace, workloads...)
}

// RestartUsher restarts the operator, which lives in the given namespace.
func RestartUsher(client *kube.Client, namespace string) Event {
	r := restartOf(client, namespace, usherWorkload())
	r.name = "restart of usher"
	return r
}

// RolloutEdge replaces the edge's pods, node by node as its DaemonSet says.
func RolloutEdge(client *kube.Client, namespace string) Event {
	r := restartOf(client, namespace, edgeWorkload())
	r.name = "roll-out of the edge"
	return r
}

func restartOf(client *kube.Client, namespace string, workloads ...kube.Workload) *restart {
	var names []string
	for _, workload := range workloads {
		names = append(names, workload.Name)
	}
	return &restart{name: "restart of " + strings.Join(names, ", "), client: client, namespace: namespace, workloads: workloads}
}

// restart replaces every pod of workloads.
type restart struct {
	name      string
	client    *kube.Client
	namespace string
	workloads []kube.Workload
	inTurn    bool // each begins when the one before is done

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
	begin := r.workloads
	if r.inTurn {
		begin = begin[:1]
	}
	for _, workload := range begin {
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
	if err := r.wait(ctx); err != nil {
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

// wait waits for all roll-outs. In turn, it also begins all but the first.
func (r *restart) wait(ctx context.Context) error {
	if !r.inTurn {
		group, waiting := errgroup.WithContext(ctx)
		for _, workload := range r.workloads {
			group.Go(func() error { return r.client.WaitRollout(waiting, r.namespace, workload) })
		}
		return group.Wait()
	}
	for i, workload := range r.workloads {
		if i > 0 {
			if err := r.client.Restart(ctx, r.namespace, workload); err != nil {
				return err
			}
		}
		if err := r.client.WaitRollout(ctx, r.namespace, workload); err != nil {
			return err
		}
	}
	return nil
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
