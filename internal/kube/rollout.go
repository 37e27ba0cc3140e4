package kube

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"secondhop/internal/wait"
)

// pollPeriod is how often a wait asks the API server; a query costs it about a
// millisecond.
const pollPeriod = 250 * time.Millisecond

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
	case StatefulSet:
		d, err := apps.StatefulSets(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, restartAnnotation, stamp)
		_, err = apps.StatefulSets(namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err
	}
	return fmt.Errorf("cannot restart a %s", workload.Kind)
}
