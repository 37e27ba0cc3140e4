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
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// PodFail are the parameters of pod_fail.
type PodFail struct {
	Pods PodChoice `yaml:"pods" doc:"which pods"`
}

func podFailKind() Kind {
	return newKind("pod_fail", "Makes the kubelet end pods for good: they stay, with phase Failed, as evicted pods do.", PodFail{},
		func(env Env, p PodFail) (Event, error) {
			pods, err := env.choose(p.Pods)
			if err != nil {
				return nil, err
			}
			return &podFailure{pods: pods}, nil
		})
}

// pastDeadline is a deadline that running pods are past: the kubelet ends them with
// phase Failed, and leaves the object, whatever their restart policy.
const pastDeadline = `{"metadata":{"uid":%q},"spec":{"activeDeadlineSeconds":1}}`

type podFailure struct {
	pods    *chosen
	applied time.Time
	victims map[types.UID]string // names
}

func (f *podFailure) Name() string { return "failure of " + f.pods.String() }

func (f *podFailure) Apply(ctx context.Context) error {
	victims, err := f.pods.some(ctx, f)
	if err != nil {
		return err
	}
	f.victims = map[types.UID]string{}
	f.applied = time.Now()
	for _, pod := range victims {
		_, err := f.api().Patch(ctx, pod.Name, types.MergePatchType, fmt.Appendf(nil, pastDeadline, pod.UID),
			metav1.PatchOptions{FieldManager: kube.FieldManager})
		if err != nil {
			return fmt.Errorf("%s: pod %s: %w", f.Name(), pod.Name, err)
		}
		f.victims[pod.UID] = pod.Name
	}
	return nil
}

// Confirm waits until the pods have failed, which takes a kubelet up to its sync
// period, and the pods' grace.
func (f *podFailure) Confirm(ctx context.Context) (Outcome, error) {
	err := wait.Until(ctx, fmt.Sprintf("%d pods to fail", len(f.victims)), podPeriod, func(ctx context.Context) error {
		pods, err := f.pods.all(ctx)
		if err != nil {
			return err
		}
		failed := 0
		for _, pod := range pods {
			if f.victims[pod.UID] != "" && pod.Status.Phase == corev1.PodFailed {
				failed++
			}
		}
		if failed < len(f.victims) {
			return fmt.Errorf("%d have", failed)
		}
		return nil
	})
	if err != nil {
		return Outcome{}, notProvoked(f, "the pods have not failed", err)
	}
	return Outcome{f.applied, time.Now(), fmt.Sprintf("%d pods failed", len(f.victims))}, nil
}

// Undo removes what is left of the pods: their successors run already.
func (f *podFailure) Undo(ctx context.Context) error {
	var failures []error
	for uid, name := range f.victims {
		err := f.api().Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failures = append(failures, fmt.Errorf("undo %s: pod %s: %w", f.Name(), name, err))
		}
	}
	return errors.Join(failures...)
}

func (f *podFailure) api() corev1client.PodInterface {
	return f.pods.client.Typed.CoreV1().Pods(f.pods.app.Spec.Namespace)
}
