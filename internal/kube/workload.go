package kube

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// Workload names something that keeps pods running.
type Workload struct {
	Kind WorkloadKind
	Name string
}

// WorkloadKind is the kind of a Workload.
type WorkloadKind string

// The kinds that the lab uses.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
	Job         WorkloadKind = "Job"
)

func (w Workload) String() string { return string(w.Kind) + " " + w.Name }

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
	case StatefulSet:
		s, err := c.Typed.AppsV1().StatefulSets(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil {
			return progress{}, err
		}
		return statefulSetProgress(s), nil
	case Job:
		j, err := c.Typed.BatchV1().Jobs(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil {
			return progress{}, err
		}
		return jobProgress(j), nil
	}
	return progress{}, fmt.Errorf("no roll-out is known for %s", workload)
}

func deploymentProgress(d *appsv1.Deployment) progress {
	return progress{
		selector: metav1.FormatLabelSelector(d.Spec.Selector),
		observed: d.Status.ObservedGeneration >= d.Generation,
		desired:  orOne(d.Spec.Replicas),
		updated:  d.Status.UpdatedReplicas,
		ready:    d.Status.AvailableReplicas,
		present:  d.Status.Replicas,
	}
}

func statefulSetProgress(s *appsv1.StatefulSet) progress {
	return progress{
		selector: metav1.FormatLabelSelector(s.Spec.Selector),
		observed: s.Status.ObservedGeneration >= s.Generation,
		desired:  orOne(s.Spec.Replicas),
		updated:  s.Status.UpdatedReplicas,
		ready:    s.Status.AvailableReplicas,
		present:  s.Status.Replicas,
	}
}

// jobProgress: a Job has one template for ever, and is rolled out while it runs.
func jobProgress(j *batchv1.Job) progress {
	desired, active, ready := orOne(j.Spec.Parallelism), j.Status.Active, int32(0)
	if j.Status.Ready != nil {
		ready = *j.Status.Ready
	}
	return progress{
		selector: metav1.FormatLabelSelector(j.Spec.Selector),
		observed: true, desired: desired, updated: active, ready: ready, present: active,
	}
}

// orOne is a number of pods, which is 1 where nothing is said.
func orOne(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
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

// Scale sets the number of pods of a Deployment or a StatefulSet and returns what
// it was; it does not wait.
func (c *Client) Scale(ctx context.Context, namespace string, workload Workload, pods int) (before int, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		switch apps := c.Typed.AppsV1(); workload.Kind {
		case Deployment:
			before, err = scale(ctx, apps.Deployments(namespace), workload.Name, pods)
		case StatefulSet:
			before, err = scale(ctx, apps.StatefulSets(namespace), workload.Name, pods)
		default:
			err = errors.New("it has no number of pods")
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("scale %s of %s to %d: %w", workload, namespace, pods, err)
	}
	return before, nil
}

// scalable is what Deployments and StatefulSets have in common.
type scalable interface {
	GetScale(context.Context, string, metav1.GetOptions) (*autoscalingv1.Scale, error)
	UpdateScale(context.Context, string, *autoscalingv1.Scale, metav1.UpdateOptions) (*autoscalingv1.Scale, error)
}

func scale(ctx context.Context, api scalable, name string, pods int) (before int, err error) {
	current, err := api.GetScale(ctx, name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	before = int(current.Spec.Replicas)
	if before == pods {
		return before, nil
	}
	current.Spec.Replicas = int32(pods)
	_, err = api.UpdateScale(ctx, name, current, metav1.UpdateOptions{FieldManager: FieldManager})
	return before, err
}
