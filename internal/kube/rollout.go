package kube

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"secondhop/internal/wait"
)

// pollPeriod is how often a wait asks the API server; a query costs it about a
// millisecond.
const pollPeriod = 250 * time.Millisecond

// Workload names something that keeps pods running.
type Workload struct {
	Kind WorkloadKind
	Name string
}

// WorkloadKind is the kind of a Workload.
type WorkloadKind string

// The kinds that the lab uses.
const (
	Deployment WorkloadKind = "Deployment"
	DaemonSet  WorkloadKind = "DaemonSet"
)

func (w Workload) String() string { return string(w.Kind) + " " + w.Name }

// progress is a workload's state of roll-out, the same for all kinds.
type progress struct {
	selector                         string
	observed                         bool
	mustExist                        bool // 0 pods are never what is wanted
	desired, updated, ready, present int32
}

// WaitRollout waits until every pod of the workload is of the current template
// and ready, and no other pod of it exists any more. `kubectl rollout status` is
// content while old pods are still terminating, and those still hold slots.
func (c *Client) WaitRollout(ctx context.Context, namespace string, workload Workload) error {
	subject := fmt.Sprintf("%s %s/%s to be rolled out", workload.Kind, namespace, workload.Name)
	return wait.Until(ctx, subject, pollPeriod, func(ctx context.Context) error {
		return c.rolledOut(ctx, namespace, workload)
	})
}

// rolledOut says what a roll-out still lacks.
func (c *Client) rolledOut(ctx context.Context, namespace string, workload Workload) error {
	state, err := c.progress(ctx, namespace, workload)
	if err != nil {
		return err
	}
	if err := state.miss(); err != nil {
		return err
	}
	pods, err := c.Pods(ctx, namespace, state.selector)
	if err != nil {
		return err
	}
	if len(pods) != int(state.desired) {
		return fmt.Errorf("%d pods exist, %d are wanted", len(pods), state.desired)
	}
	return nil
}

func (p progress) miss() error {
	switch {
	case !p.observed:
		return fmt.Errorf("its controller has not seen the last change")
	case p.mustExist && p.desired == 0:
		return fmt.Errorf("no node is meant to run it")
	case p.updated < p.desired:
		return fmt.Errorf("%d of %d pods are of the new template", p.updated, p.desired)
	case p.ready < p.desired:
		return fmt.Errorf("%d of %d pods are ready", p.ready, p.desired)
	case p.present > p.desired:
		return fmt.Errorf("%d old pods are still there", p.present-p.desired)
	}
	return nil
}

func (c *Client) progress(ctx context.Context, namespace string, workload Workload) (progress, error) {
	switch workload.Kind {
	case Deployment:
		d, err := c.Typed.AppsV1().Deployments(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil {
			return progress{}, err
		}
		return deploymentProgress(d), nil
	case DaemonSet:
		d, err := c.Typed.AppsV1().DaemonSets(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil {
			return progress{}, err
		}
		return daemonSetProgress(d), nil
	}
	return progress{}, fmt.Errorf("no roll-out is known for %s", workload)
}

func deploymentProgress(d *appsv1.Deployment) progress {
	desired := int32(1)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	return progress{
		selector: metav1.FormatLabelSelector(d.Spec.Selector),
		observed: d.Status.ObservedGeneration >= d.Generation,
		desired:  desired,
		updated:  d.Status.UpdatedReplicas,
		ready:    d.Status.AvailableReplicas,
		present:  d.Status.Replicas,
	}
}

// daemonSetProgress: a DaemonSet that nobody has counted yet wants 0 pods, as does
// one that no node matches; neither is what the lab waits for.
func daemonSetProgress(d *appsv1.DaemonSet) progress {
	return progress{
		selector:  metav1.FormatLabelSelector(d.Spec.Selector),
		observed:  d.Status.ObservedGeneration >= d.Generation,
		mustExist: true,
		desired:   d.Status.DesiredNumberScheduled,
		updated:   d.Status.UpdatedNumberScheduled,
		ready:     d.Status.NumberAvailable,
		present:   d.Status.CurrentNumberScheduled,
	}
}

// WorkloadPods lists the pods of a workload, Terminating ones included.
func (c *Client) WorkloadPods(ctx context.Context, namespace string, workload Workload) ([]corev1.Pod, error) {
	state, err := c.progress(ctx, namespace, workload)
	if err != nil {
		return nil, fmt.Errorf("pods of %s in %s: %w", workload, namespace, err)
	}
	return c.Pods(ctx, namespace, state.selector)
}

// restartAnnotation is the one that kubectl writes, so that its users recognise it.
const restartAnnotation = "kubectl.kubernetes.io/restartedAt"

// Restart begins to replace every pod of the workload, as `kubectl rollout
// restart` does; it does not wait.
func (c *Client) Restart(ctx context.Context, namespace string, workload Workload) error {
	stamp := time.Now().Format(time.RFC3339Nano)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return c.stamp(ctx, namespace, workload, stamp) })
	if err != nil {
		return fmt.Errorf("restart %s of %s: %w", workload, namespace, err)
	}
	return nil
}

func (c *Client) stamp(ctx context.Context, namespace string, workload Workload, stamp string) error {
	switch apps := c.Typed.AppsV1(); workload.Kind {
	case Deployment:
		d, err := apps.Deployments(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, restartAnnotation, stamp)
		_, err = apps.Deployments(namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err
	case DaemonSet:
		d, err := apps.DaemonSets(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, restartAnnotation, stamp)
		_, err = apps.DaemonSets(namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err
	}
	return fmt.Errorf("cannot restart a %s", workload.Kind)
}
