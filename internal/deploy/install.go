package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/internal/wait"
)

// ours selects everything that this package applies, and the pods of it.
const ours = "app.kubernetes.io/part-of=secondhop"

// teardownGrace is how many seconds pods of an application get that is being
// removed: nothing sends to it any more, so its graceful stop would only cost
// time. It is not 0, with which the API forgets a pod that still runs.
const teardownGrace = 1

const removePeriod = 300 * time.Millisecond

// DeployApp removes the previous application of the spec's namespace, whatever
// it was, and applies the new one. It does not wait: WaitSteady does.
func (l *Lab) DeployApp(ctx context.Context, spec AppSpec) (*App, error) {
	if err := spec.validate(len(l.Cluster.Workers())); err != nil {
		return nil, err
	}
	spec = spec.withDefaults()
	if err := l.RemoveApp(ctx, spec.Namespace); err != nil {
		return nil, err
	}
	app, values := spec.plan(l.Cluster.WorkerNames(), l.Images.Demoapp)
	if err := l.apply(ctx, values.Render); err != nil {
		return nil, fmt.Errorf("deploy %s/%s: %w", spec.Namespace, spec.Name, err)
	}
	return app, nil
}

// RemoveApp removes what DeployApp has put into the namespace and waits until
// its pods and its slot Services are gone. The namespace itself stays, since
// ending it takes longer than all the rest. Removing what is not there is fine.
func (l *Lab) RemoveApp(ctx context.Context, namespace string) error {
	return wait.Until(ctx, fmt.Sprintf("the application in namespace %s to be gone", namespace), removePeriod,
		func(ctx context.Context) error {
			if err := l.deleteAll(ctx, namespace); err != nil {
				return fmt.Errorf("delete in namespace %s: %w", namespace, err)
			}
			return l.leftIn(ctx, namespace)
		})
}

// deleteAll deletes from the outside in: first what leads traffic there, then
// what would make new pods, then the pods. What owns pods is told to orphan them:
// else the garbage collector deletes them as well, with their own grace period,
// and whoever comes first decides how long they take. It is called until nothing
// is left, because a controller with a stale view may make one more of something.
func (l *Lab) deleteAll(ctx context.Context, namespace string) error {
	list := metav1.ListOptions{LabelSelector: ours}
	background, orphan, grace := metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan, int64(teardownGrace)
	plain, leavePods := metav1.DeleteOptions{PropagationPolicy: &background}, metav1.DeleteOptions{PropagationPolicy: &orphan}
	typed := l.Client.Typed
	services, err := typed.CoreV1().Services(namespace).List(ctx, list) // they have no collective delete
	if err != nil {
		return err
	}
	failures := []error{typed.NetworkingV1().Ingresses(namespace).DeleteCollection(ctx, plain, list)}
	for _, service := range services.Items {
		err := typed.CoreV1().Services(namespace).Delete(ctx, service.Name, plain)
		if !apierrors.IsNotFound(err) {
			failures = append(failures, err)
		}
	}
	failures = append(failures,
		typed.AppsV1().Deployments(namespace).DeleteCollection(ctx, leavePods, list),
		typed.AppsV1().StatefulSets(namespace).DeleteCollection(ctx, leavePods, list),
		typed.AppsV1().DaemonSets(namespace).DeleteCollection(ctx, leavePods, list),
		typed.BatchV1().Jobs(namespace).DeleteCollection(ctx, leavePods, list),
		typed.AppsV1().ReplicaSets(namespace).DeleteCollection(ctx, leavePods, list),
		typed.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &grace}, list))
	return errors.Join(failures...)
}

// leftIn counts what is still there. A Deployment that is on its way out counts:
// applying one of its name would be forgotten together with it.
func (l *Lab) leftIn(ctx context.Context, namespace string) error {
	pods, err := l.Client.Pods(ctx, namespace, ours)
	if err != nil {
		return err
	}
	workloads, err := l.workloadsIn(ctx, namespace)
	if err != nil {
		return err
	}
	// usher's Services go with the application's Service, which owns them.
	services, err := l.Client.Typed.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{LabelSelector: "eqtv.io/local-slots-of"})
	if err != nil {
		return err
	}
	if len(pods)+workloads+len(services.Items) > 0 {
		return fmt.Errorf("%d pods, %d workloads and %d slot Services are left", len(pods), workloads, len(services.Items))
	}
	return nil
}

// workloadsIn counts what keeps pods running.
func (l *Lab) workloadsIn(ctx context.Context, namespace string) (int, error) {
	list := metav1.ListOptions{LabelSelector: ours}
	apps, batch := l.Client.Typed.AppsV1(), l.Client.Typed.BatchV1()
	deployments, err := apps.Deployments(namespace).List(ctx, list)
	if err != nil {
		return 0, err
	}
	replicaSets, err := apps.ReplicaSets(namespace).List(ctx, list)
	if err != nil {
		return 0, err
	}
	statefulSets, err := apps.StatefulSets(namespace).List(ctx, list)
	if err != nil {
		return 0, err
	}
	daemonSets, err := apps.DaemonSets(namespace).List(ctx, list)
	if err != nil {
		return 0, err
	}
	jobs, err := batch.Jobs(namespace).List(ctx, list)
	if err != nil {
		return 0, err
	}
	return len(deployments.Items) + len(replicaSets.Items) + len(statefulSets.Items) + len(daemonSets.Items) + len(jobs.Items), nil
}
