package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

const podPeriod = 100 * time.Millisecond

// DeletionEnd is when a deletion of pods counts as done.
type DeletionEnd string

// The ends of a deletion.
const (
	UntilGone     DeletionEnd = "gone"     // the pods are no longer in the API
	UntilReplaced DeletionEnd = "replaced" // and as many others are ready
)

// PodDelete are the parameters of pod_delete.
type PodDelete struct {
	Pods  PodChoice      `yaml:"pods" doc:"which pods"`
	Grace *time.Duration `yaml:"grace" doc:"from SIGTERM to SIGKILL, in whole seconds; the pods' own if not set"`
	Force bool           `yaml:"force" doc:"forget the pods at once; the kubelet stops them when it notices"`
	Stuck bool           `yaml:"stuck" doc:"pods that are Terminating already, instead of live ones"`
	Until DeletionEnd    `yaml:"until" doc:"done when the pods are gone, or replaced by as many ready ones"`
}

// Validate says what is wrong with the parameters.
func (p PodDelete) Validate() error {
	switch {
	case p.Force && p.Grace != nil:
		return errors.New("force leaves no grace: set one of the two")
	case p.Grace != nil && (*p.Grace < time.Second || *p.Grace%time.Second != 0):
		return fmt.Errorf("grace %s: want whole seconds, or force for none", *p.Grace)
	case p.Until != UntilGone && p.Until != UntilReplaced:
		return fmt.Errorf("until %q: want %s or %s", p.Until, UntilGone, UntilReplaced)
	}
	return p.Pods.Validate()
}

func (p PodDelete) options(pod *corev1.Pod) metav1.DeleteOptions {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	switch {
	case p.Force:
		options.GracePeriodSeconds = new(int64)
	case p.Grace != nil:
		seconds := int64(*p.Grace / time.Second)
		options.GracePeriodSeconds = &seconds
	}
	return options
}

func podDeleteKind() Kind {
	return newKind("pod_delete", "Deletes pods of a workload at the same time.", PodDelete{Until: UntilGone},
		func(env Env, p PodDelete) (Event, error) {
			pods, err := env.choose(p.Pods)
			if err != nil {
				return nil, err
			}
			pods.stuck = p.Stuck
			return &deletion{how: p, pods: pods}, nil
		})
}

// deletion deletes pods. What replaces them is their controller's business.
type deletion struct {
	how  PodDelete
	pods *chosen

	applied time.Time
	ready   int                  // pods that were, before
	victims map[types.UID]string // names
}

func (d *deletion) Name() string {
	if d.how.Force {
		return "forced deletion of " + d.pods.String()
	}
	return "deletion of " + d.pods.String()
}

func (d *deletion) Apply(ctx context.Context) error {
	victims, err := d.pods.some(ctx, d)
	if err != nil {
		return err
	}
	all, err := d.pods.all(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name(), err)
	}
	d.ready = readyPods(all)
	d.victims = map[types.UID]string{}
	d.applied = time.Now()
	api := d.pods.client.Typed.CoreV1().Pods(d.pods.app.Spec.Namespace)
	for _, pod := range victims {
		err := api.Delete(ctx, pod.Name, d.how.options(&pod))
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue // it went by itself
		}
		if err != nil {
			return fmt.Errorf("%s: pod %s: %w", d.Name(), pod.Name, err)
		}
		d.victims[pod.UID] = pod.Name
	}
	return nil
}

// Confirm waits until the pods are gone from the API, and replaced if that was
// asked for.
func (d *deletion) Confirm(ctx context.Context) (Outcome, error) {
	if len(d.victims) == 0 {
		return Outcome{}, notProvoked(d, "every pod had gone before", nil)
	}
	err := wait.Until(ctx, fmt.Sprintf("%d pods to be %s", len(d.victims), d.how.Until), podPeriod, func(ctx context.Context) error {
		pods, err := d.pods.all(ctx)
		if err != nil {
			return err
		}
		return d.left(pods)
	})
	if err != nil {
		return Outcome{}, notProvoked(d, "the pods are not "+string(d.how.Until), err)
	}
	return Outcome{d.applied, time.Now(), fmt.Sprintf("%d pods %s", len(d.victims), d.how.Until)}, nil
}

// left says what is missing to the end of the deletion.
func (d *deletion) left(pods []corev1.Pod) error {
	for _, pod := range pods {
		if name, ours := d.victims[pod.UID]; ours {
			return fmt.Errorf("%s is %s", name, pod.Status.Phase)
		}
	}
	if ready := readyPods(pods); d.how.Until == UntilReplaced && ready < d.ready {
		return fmt.Errorf("%d of %d pods are ready", ready, d.ready)
	}
	return nil
}

func readyPods(pods []corev1.Pod) int {
	ready := 0
	for _, pod := range pods {
		if kube.Live(&pod) && kube.Ready(&pod) {
			ready++
		}
	}
	return ready
}

// Undo has nothing to put back.
func (d *deletion) Undo(context.Context) error { return nil }
