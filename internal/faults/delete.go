package faults

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// HowToDelete is how a pod is deleted.
type HowToDelete string

// The ways to delete a pod.
const (
	Graceful HowToDelete = "graceful" // with its own grace period
	// Force forgets the pod at once; the kubelet stops it when it notices.
	Force HowToDelete = "force"
)

const gonePeriod = 100 * time.Millisecond

// DeletePod deletes one pod. What replaces it is its controller's business.
func DeletePod(client *kube.Client, namespace, pod string, how HowToDelete) Event {
	return &deletion{client: client, namespace: namespace, pod: pod, how: how}
}

type deletion struct {
	client         *kube.Client
	namespace, pod string
	how            HowToDelete

	applied time.Time
	uid     types.UID
}

func (d *deletion) Name() string { return fmt.Sprintf("%s deletion of pod %s", d.how, d.pod) }

func (d *deletion) Apply(ctx context.Context) error {
	pods := d.client.Typed.CoreV1().Pods(d.namespace)
	pod, err := pods.Get(ctx, d.pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return notProvoked(d, "there is no such pod", err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name(), err)
	}
	d.uid = pod.UID
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	if d.how == Force {
		options.GracePeriodSeconds = new(int64)
	}
	d.applied = time.Now()
	if err := pods.Delete(ctx, d.pod, options); err != nil {
		return fmt.Errorf("%s: %w", d.Name(), err)
	}
	return nil
}

// Confirm waits until the pod is gone from the API.
func (d *deletion) Confirm(ctx context.Context) (Outcome, error) {
	pods := d.client.Typed.CoreV1().Pods(d.namespace)
	err := wait.Until(ctx, "pod "+d.pod+" to be gone", gonePeriod, func(ctx context.Context) error {
		pod, err := pods.Get(ctx, d.pod, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case pod.UID != d.uid:
			return nil // another one of that name
		}
		return fmt.Errorf("it is %s", pod.Status.Phase)
	})
	if err != nil {
		return Outcome{}, notProvoked(d, "the pod is still there", err)
	}
	return Outcome{d.applied, time.Now(), "gone"}, nil
}

// Undo has nothing to put back.
func (d *deletion) Undo(context.Context) error { return nil }
