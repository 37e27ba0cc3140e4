package deploy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/clusters"
	"secondhop/internal/envtest"
	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// apiLab is a lab of which only the API server is real.
func apiLab(t *testing.T) *Lab {
	t.Helper()
	client, err := kube.New(envtest.Start(t).Admin())
	must(t, err)
	nodes := []clusters.Node{{Name: "cp", ControlPlane: true}, {Name: "w1"}, {Name: "w2"}}
	return &Lab{Client: client, Cluster: &clusters.Cluster{Nodes: nodes}, Images: Images{Demoapp: "secondhop/demoapp:1"}}
}

// collectGarbage plays the garbage collector's part of a deletion that orphans:
// it lets go of what is on its way out.
func collectGarbage(t *testing.T, lab *Lab) {
	api := lab.Client.Typed.AppsV1().Deployments("app")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		_ = wait.Until(ctx, "the end", 50*time.Millisecond, func(ctx context.Context) error {
			deployments, err := api.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, d := range deployments.Items {
				if d.DeletionTimestamp != nil {
					d.Finalizers = nil
					_, err = api.Update(ctx, &d, metav1.UpdateOptions{})
				}
			}
			return errors.Join(errors.New("another round"), err)
		})
	}()
}

// putPod adds an object that a controller would have made for the application.
func putPod(t *testing.T, lab *Lab, name, node string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"app": "my-app", "app.kubernetes.io/part-of": "secondhop",
	}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "x:1"}}
	_, err := lab.Client.Typed.CoreV1().Pods("app").Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
}

func TestOnAnAPIServer(t *testing.T) {
	t.Parallel()
	lab := apiLab(t)
	collectGarbage(t, lab)
	t.Run("deploy anew", func(t *testing.T) { testDeployAnew(t, lab) })
	t.Run("waits", func(t *testing.T) { testWaitsNameWhatIsMissing(t, lab) })
	t.Run("remove", func(t *testing.T) { testRemoveAppSaysWhatIsLeft(t, lab) })
}

func testDeployAnew(t *testing.T, lab *Lab) {
	ctx := t.Context()
	must(t, lab.RemoveApp(ctx, "app")) // there is not even a namespace
	_, err := lab.DeployApp(ctx, AppSpec{Placement: []int{2, 1}})
	must(t, err)
	putPod(t, lab, "unscheduled", "")
	app, err := lab.DeployApp(ctx, AppSpec{Placement: []int{0, 3}, Policy: PolicyEndpoints})
	must(t, err)

	typed := lab.Client.Typed
	deployments, err := typed.AppsV1().Deployments("app").List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(deployments.Items) != 1 || deployments.Items[0].Name != "my-app-2" || *deployments.Items[0].Spec.Replicas != 3 {
		t.Errorf("Deployments: %+v", deployments.Items)
	}
	service, err := typed.CoreV1().Services("app").Get(ctx, "my-app", metav1.GetOptions{})
	must(t, err)
	if _, slots := service.Annotations["eqtv.io/local-slots"]; slots {
		t.Error("the application without slots still asks for them")
	}
	ingress, err := typed.NetworkingV1().Ingresses("app").Get(ctx, "my-app", metav1.GetOptions{})
	must(t, err)
	if got := ingress.Annotations["secondhop.io/endpoint-policy"]; got != "endpoints" {
		t.Errorf("policy %s", got)
	}
	if _, err := typed.CoreV1().Pods("app").Get(ctx, "unscheduled", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod of the old application: %v", err)
	}
	if app.Pods() != 3 {
		t.Errorf("%d pods are wanted", app.Pods())
	}
}

func testRemoveAppSaysWhatIsLeft(t *testing.T, lab *Lab) {
	_, err := lab.DeployApp(t.Context(), AppSpec{Placement: []int{1}})
	must(t, err)
	putPod(t, lab, "stuck", "w1") // its kubelet never says that it has ended
	must(t, lab.deleteAll(t.Context(), "app"))
	if err := lab.leftIn(t.Context(), "app"); err == nil || !strings.Contains(err.Error(), "1 pods, ") {
		t.Errorf("error = %v", err)
	}
	pod, err := lab.Client.Typed.CoreV1().Pods("app").Get(t.Context(), "stuck", metav1.GetOptions{})
	must(t, err)
	if pod.DeletionTimestamp == nil || *pod.DeletionGracePeriodSeconds != teardownGrace {
		t.Errorf("the pod was not told to end soon: %v", pod.DeletionGracePeriodSeconds)
	}
}

func testWaitsNameWhatIsMissing(t *testing.T, lab *Lab) {
	app, err := lab.DeployApp(t.Context(), AppSpec{Placement: []int{1}})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := lab.WaitSteady(ctx, app); err == nil || !strings.Contains(err.Error(), "Deployment app/my-app-1") {
		t.Errorf("pods: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := lab.waitSlotServices(ctx, app); err == nil || !strings.Contains(err.Error(), "my-app-slot-0 does not exist: usher has not made it") {
		t.Errorf("slot Services: %v", err)
	}
}
