package kube

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/internal/envtest"
)

const deploymentYAML = `
apiVersion: v1
kind: Namespace
metadata: {name: app}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: app}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: "x:1"}]
`

// start gives a client of a real API server, on which the test plays controllers.
func start(t *testing.T) *Client {
	t.Helper()
	client, err := New(envtest.Start(t).Admin())
	must(t, err)
	return client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAgainstAnAPIServer(t *testing.T) {
	t.Parallel()
	client := start(t)
	t.Run("apply", func(t *testing.T) { testApply(t, client) })
	t.Run("roll-out", func(t *testing.T) { testRollout(t, client) })
	t.Run("pods", func(t *testing.T) { testPods(t, client) })
}

func testApply(t *testing.T, client *Client) {
	ctx := t.Context()
	first, err := client.Apply(ctx, []byte(deploymentYAML))
	must(t, err)
	again, err := client.Apply(ctx, []byte(deploymentYAML))
	must(t, err)
	if a, b := first[1].GetResourceVersion(), again[1].GetResourceVersion(); a != b {
		t.Errorf("applying the same again changed the Deployment: %s, then %s", a, b)
	}
	_, err = client.Apply(ctx, []byte(strings.Replace(deploymentYAML, "x:1", "x:2", 1)))
	must(t, err)
	d, err := client.Typed.AppsV1().Deployments("app").Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	if d.Spec.Template.Spec.Containers[0].Image != "x:2" || d.ManagedFields[0].Manager != FieldManager {
		t.Errorf("image %s, managed by %s", d.Spec.Template.Spec.Containers[0].Image, d.ManagedFields[0].Manager)
	}
	for _, tc := range []struct{ manifest, want string }{
		{"apiVersion: v1\nkind: Sprocket\nmetadata: {name: x}\n", "apply Sprocket x"},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: nowhere}\n", `apply ConfigMap nowhere/x: namespaces "nowhere" not found`},
		{"apiVersion: v1\nkind: ConfigMap\n", "document 1: apiVersion, kind and metadata.name"},
		{"apiVersion: v1\n  kind: x\n", "document 1"},
	} {
		if _, err := client.Apply(ctx, []byte(tc.manifest)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("apply %q: %v, want %q", tc.manifest, err, tc.want)
		}
	}
}

// play sets the status that the Deployment's controller would set.
func play(t *testing.T, client *Client, status appsv1.DeploymentStatus) {
	t.Helper()
	d, err := client.Typed.AppsV1().Deployments("app").Get(t.Context(), "web", metav1.GetOptions{})
	must(t, err)
	if status.ObservedGeneration == 0 {
		status.ObservedGeneration = d.Generation
	}
	d.Status = status
	_, err = client.Typed.AppsV1().Deployments("app").UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
	must(t, err)
}

func addPod(t *testing.T, client *Client, name, node string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "x:1"}}
	created, err := client.Typed.CoreV1().Pods("app").Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	created.Status.Phase = corev1.PodRunning
	_, err = client.Typed.CoreV1().Pods("app").UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	must(t, err)
}

func testRollout(t *testing.T, client *Client) {
	web := Workload{Deployment, "web"}
	miss := func() error { return client.rolledOut(t.Context(), "app", web) }
	expect := func(want string) {
		t.Helper()
		if err := miss(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	play(t, client, appsv1.DeploymentStatus{ObservedGeneration: 1})
	expect("its controller has not seen the last change")
	play(t, client, appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1})
	expect("1 of 2 pods are of the new template")
	play(t, client, appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 1})
	expect("1 of 2 pods are ready")
	play(t, client, appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 2, ReadyReplicas: 3, AvailableReplicas: 3})
	expect("1 old pods are still there")
	// kubectl would be content from here on: the status does not count pods that
	// are terminating.
	play(t, client, appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2})
	for _, name := range []string{"old", "new-1", "new-2"} {
		addPod(t, client, name, "w1")
	}
	must(t, client.Typed.CoreV1().Pods("app").Delete(t.Context(), "old", metav1.DeleteOptions{}))
	expect("3 pods exist, 2 are wanted")
	none := int64(0)
	must(t, client.Typed.CoreV1().Pods("app").Delete(t.Context(), "old", metav1.DeleteOptions{GracePeriodSeconds: &none}))
	must(t, miss())
	must(t, client.WaitRollout(t.Context(), "app", web))

	must(t, client.Restart(t.Context(), "app", web))
	expect("its controller has not seen the last change")
	pods, err := client.WorkloadPods(t.Context(), "app", web)
	if err != nil || len(pods) != 2 {
		t.Errorf("%d pods, %v", len(pods), err)
	}
	if err := client.Restart(t.Context(), "app", Workload{DaemonSet, "nothing"}); err == nil || !strings.Contains(err.Error(), "restart DaemonSet nothing of app") {
		t.Errorf("restart of nothing: %v", err)
	}
}

func testPods(t *testing.T, client *Client) {
	byNode, err := client.PodByNode(t.Context(), "app", "app=web")
	if err == nil || !strings.Contains(err.Error(), "both live on w1") {
		t.Errorf("two pods of a node: %v, %v", byNode, err)
	}
	must(t, client.Typed.CoreV1().Pods("app").Delete(t.Context(), "new-1", metav1.DeleteOptions{}))
	byNode, err = client.PodByNode(t.Context(), "app", "app=web")
	if err != nil || byNode["w1"] != "new-2" {
		t.Errorf("a terminating pod is not the one: %v, %v", byNode, err)
	}
}

// A DaemonSet that nobody has counted yet is not rolled out.
func TestDaemonSetThatWantsNothing(t *testing.T) {
	t.Parallel()
	if err := daemonSetProgress(&appsv1.DaemonSet{}).miss(); err == nil {
		t.Error("0 of 0 pods passed for rolled out")
	}
	if err := deploymentProgress(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32)}}).miss(); err != nil {
		t.Errorf("a Deployment of 0 replicas: %v", err)
	}
}
