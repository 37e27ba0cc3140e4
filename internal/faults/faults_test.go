package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"secondhop/clusters"
	"secondhop/internal/deploy"
	"secondhop/internal/envtest"
	"secondhop/internal/failure"
	"secondhop/internal/kube"
)

const namespace = "app"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shortly is for what is not going to happen, patiently for what is.
func shortly(t *testing.T) context.Context   { return within(t, 2*time.Second) }
func patiently(t *testing.T) context.Context { return within(t, 2*time.Minute) }

func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// world is an API server on which the test plays the controllers.
type world struct {
	*testing.T
	client *kube.Client
}

func newWorld(t *testing.T) world {
	t.Helper()
	client, err := kube.New(envtest.Start(t).Admin())
	must(t, err)
	_, err = client.Typed.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(t, err)
	return world{t, client}
}

func deployment(name string) kube.Workload { return kube.Workload{Kind: kube.Deployment, Name: name} }

func (w world) deployment(name string) {
	w.Helper()
	labels := map[string]string{"app": name}
	two := intstr.FromInt32(2)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "x:1"}}
	d.Spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &two, MaxUnavailable: &two},
	}
	_, err := w.client.Typed.AppsV1().Deployments(namespace).Create(w.Context(), d, metav1.CreateOptions{})
	must(w.T, err)
}

// settle reports the Deployment as rolled out, whatever its pods are.
func (w world) settle(name string) {
	w.Helper()
	w.report(name, 1)
}

// report says of a Deployment that it has so many pods, all ready.
func (w world) report(name string, pods int32) {
	w.Helper()
	api := w.client.Typed.AppsV1().Deployments(namespace)
	d, err := api.Get(w.Context(), name, metav1.GetOptions{})
	must(w.T, err)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
	}
	_, err = api.UpdateStatus(w.Context(), d, metav1.UpdateOptions{})
	must(w.T, err)
}

func (w world) pod(name, app, node string) {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app, "secondhop.io/worker": node}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "x:1"}}
	_, err := w.client.Typed.CoreV1().Pods(namespace).Create(w.Context(), pod, metav1.CreateOptions{})
	must(w.T, err)
}

// status is what the pod's kubelet says.
func (w world) status(name string, status corev1.PodStatus) {
	w.Helper()
	api := w.client.Typed.CoreV1().Pods(namespace)
	pod, err := api.Get(w.Context(), name, metav1.GetOptions{})
	must(w.T, err)
	pod.Status = status
	_, err = api.UpdateStatus(w.Context(), pod, metav1.UpdateOptions{})
	must(w.T, err)
}

// env is a lab of the workers w1 and w2 with one application.
func (w world) env(app string, pods map[string]int) Env {
	cluster := &clusters.Cluster{Nodes: []clusters.Node{{Name: "cp", ControlPlane: true}, {Name: "w1"}, {Name: "w2"}}}
	return Env{
		Lab: &deploy.Lab{Client: w.client, Cluster: cluster}, Cluster: cluster,
		App: &deploy.App{Spec: deploy.AppSpec{Namespace: namespace, Name: app, Kind: kube.Deployment}, Workloads: []kube.Workload{deployment(app)}, PodsPerNode: pods},
	}
}

// event makes an event of a word, as a scenario does.
func (w world) event(kind Kind, env Env, with any) Event {
	w.Helper()
	event, err := kind.New(env, with)
	must(w.T, err)
	return event
}

func (w world) gone(name string) {
	w.Helper()
	must(w.T, w.client.Typed.CoreV1().Pods(namespace).Delete(w.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

func wantNotProvoked(t *testing.T, err error, why string) {
	t.Helper()
	var missed *NotProvokedError
	if !errors.As(err, &missed) || !strings.Contains(err.Error(), why) {
		t.Errorf("error = %v, want NotProvokedError with %q", err, why)
	}
	if failure.ExitCode(err) != int(failure.Infrastructure) {
		t.Errorf("exit code %d: an event without effect is not the product's failure", failure.ExitCode(err))
	}
}

// TestEventsOnAnAPIServer tries all events side by side, each on objects of its own.
func TestEventsOnAnAPIServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]func(world){
		"restart":            testRestart,
		"restart of nothing": testRestartOfNothing,
		"one by one":         testOneByOne,
		"rollout pace":       testRolloutPace,
		"rollout in turn":    testRolloutInTurn,
		"scale":              testScale,
		"pod_delete":         testDelete,
		"pod_fail":           testPodFail,
		"label_write":        testLabelWrite,
		"other writer":       testOtherWriter,
		"service_patch":      testServicePatch,
		"service_recreate":   testServiceRecreate,
		"ingress_recreate":   testIngressRecreate,
		"ingress_patch":      testIngressPatch,
		"job_run":            testJobRun,
		"settings":           testSettings,
		"readiness":          testReadiness,
		"operator words":     testOperatorWords,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(world{t, w.client})
		})
	}
}

func testRestart(w world) {
	w.deployment("web")
	w.pod("web-1", "web", "w1")
	event := RestartAll(w.client, namespace, deployment("web"))
	must(w.T, event.Apply(w.Context()))
	if _, err := event.Confirm(shortly(w.T)); err == nil || !strings.Contains(err.Error(), "did not come to its end") {
		w.Errorf("a restart that nobody carries out: %v", err)
	}
	w.settle("web")
	_, err := event.Confirm(patiently(w.T))
	wantNotProvoked(w.T, err, "still there: web-1")
	w.gone("web-1")
	w.pod("web-2", "web", "w1")
	outcome, err := event.Confirm(patiently(w.T))
	must(w.T, err)
	if outcome.Applied.IsZero() || outcome.Done.Before(outcome.Applied) || outcome.Detail != "1 pods replaced" {
		w.Errorf("outcome %+v", outcome)
	}
	must(w.T, event.Undo(w.Context()))
}

func testRestartOfNothing(w world) {
	w.deployment("empty")
	event := RestartAll(w.client, namespace, deployment("empty"))
	must(w.T, event.Apply(w.Context()))
	_, err := event.Confirm(patiently(w.T))
	wantNotProvoked(w.T, err, "there was no pod to restart")
	if err := RestartAll(w.client, namespace, deployment("missing")).Apply(w.Context()); err == nil || !strings.Contains(err.Error(), "missing") {
		w.Errorf("restart of a Deployment that is not there: %v", err)
	}
}

func testOneByOne(w world) {
	w.deployment("slow")
	w.pod("slow-1", "slow", "w1")
	strategy := func() string {
		d, err := w.client.Typed.AppsV1().Deployments(namespace).Get(w.Context(), "slow", metav1.GetOptions{})
		must(w.T, err)
		r := d.Spec.Strategy.RollingUpdate
		return r.MaxSurge.String() + " " + r.MaxUnavailable.String()
	}
	event := RestartOneByOne(w.client, namespace, deployment("slow"))
	must(w.T, event.Undo(w.Context())) // before Apply it has nothing to do
	must(w.T, event.Apply(w.Context()))
	if got := strategy(); got != "0 1" {
		w.Errorf("rolls by %s, want 0 1", got)
	}
	must(w.T, event.Undo(w.Context()))
	if got := strategy(); got != "2 2" {
		w.Errorf("rolls by %s afterwards, want 2 2 as before", got)
	}
}

func testDelete(w world) {
	w.pod("victim", "victims", "w1")
	w.pod("bystander", "victims", "w2")
	for _, pod := range []string{"victim", "bystander"} {
		w.status(pod, corev1.PodStatus{Phase: corev1.PodRunning})
	}
	env := w.env("victims", map[string]int{"w1": 1, "w2": 1})
	event := w.event(podDeleteKind(), env, &PodDelete{Pods: PodChoice{Nodes: []int{1}}, Until: UntilGone})
	must(w.T, event.Apply(w.Context()))
	_, err := event.Confirm(shortly(w.T)) // there is no kubelet that ends it
	wantNotProvoked(w.T, err, "the pods are not gone")

	force := w.event(podDeleteKind(), env, &PodDelete{Stuck: true, Force: true, Until: UntilGone})
	must(w.T, force.Apply(w.Context()))
	outcome, err := force.Confirm(patiently(w.T))
	must(w.T, err)
	if outcome.Detail != "1 pods gone" {
		w.Errorf("outcome %+v", outcome)
	}
	wantNotProvoked(w.T, event.Apply(w.Context()), "there is no such pod")
	left, err := w.client.Pods(w.Context(), namespace, "app=victims")
	must(w.T, err)
	if len(left) != 1 || left[0].Name != "bystander" {
		w.Errorf("pods left: %v", left)
	}
}
