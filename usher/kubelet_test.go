package usher

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"secondhop/internal/wait"
)

// playground is a namespace on a real API server in which the test plays user,
// scheduler and kubelet.
type playground struct {
	*testing.T
	client    kubernetes.Interface
	namespace string
}

func newPlayground(t *testing.T, client kubernetes.Interface, namespace string) *playground {
	t.Helper()
	p := &playground{t, client, namespace}
	_, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	p.must(err)
	return p
}

func (p *playground) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// app makes the Service that opts in; it selects app=<name>.
func (p *playground) app(name string, slots int) {
	p.Helper()
	_, err := p.client.CoreV1().Services(p.namespace).Create(p.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			DefaultConfig().SlotsAnnotation(): fmt.Sprint(slots),
		}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{})
	p.must(err)
}

// annotate sets the app's count of slots; "-" takes the annotation away.
func (p *playground) annotate(app, value string) {
	p.Helper()
	if value != "-" {
		value = fmt.Sprintf("%q", value)
	} else {
		value = "null"
	}
	p.patchService(app, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, DefaultConfig().SlotsAnnotation(), value))
}

func (p *playground) patchService(name, patch string) {
	p.Helper()
	_, err := p.client.CoreV1().Services(p.namespace).Patch(p.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	p.must(err)
}

// create makes a pod of an app and binds it to a node, as a scheduler does.
func (p *playground) create(app, name, node string) {
	p.Helper()
	_, err := p.client.CoreV1().Pods(p.namespace).Create(p.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}, metav1.CreateOptions{})
	p.must(err)
	p.must(p.client.CoreV1().Pods(p.namespace).Bind(p.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{}))
}

// patch changes a pod, patchStatus its status as the kubelet does.
func (p *playground) patch(pod, patch string) { p.Helper(); p.patchPod(pod, patch) }
func (p *playground) patchStatus(pod, patch string) {
	p.Helper()
	p.patchPod(pod, patch, "status")
}

func (p *playground) patchPod(pod, patch string, subresource ...string) {
	p.Helper()
	_, err := p.client.CoreV1().Pods(p.namespace).Patch(p.Context(), pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
	p.must(err)
}

func (p *playground) ready(pod string) {
	p.Helper()
	p.patchStatus(pod, `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
}

// terminate begins a graceful deletion; finish ends it, as the kubelet does once
// the containers are gone.
func (p *playground) terminate(pod string) { p.Helper(); p.delete(pod, 30) }
func (p *playground) finish(pod string)    { p.Helper(); p.delete(pod, 0) }

func (p *playground) delete(pod string, grace int64) {
	p.Helper()
	p.must(p.client.CoreV1().Pods(p.namespace).Delete(p.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
}

// numbers are the slot labels of all pods by name, "" for none.
func (p *playground) numbers(ctx context.Context) (map[string]string, error) {
	list, err := p.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	numbers := map[string]string{}
	for _, pod := range list.Items {
		numbers[pod.Name] = pod.Labels[DefaultConfig().SlotLabel()]
	}
	return numbers, nil
}

// until waits for a state of the API that somebody else brings about.
func (p *playground) until(subject string, try func(context.Context) error) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 60*time.Second)
	defer cancel()
	p.must(wait.Until(ctx, subject, 10*time.Millisecond, try))
}

// untilNumbers waits for exactly these labels.
func (p *playground) untilNumbers(want map[string]string) {
	p.Helper()
	p.until(fmt.Sprintf("numbers %v", want), func(ctx context.Context) error {
		got, err := p.numbers(ctx)
		if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			err = fmt.Errorf("they are %v", got)
		}
		return err
	})
}

// slotServices are the slot Services of an app by name.
func (p *playground) slotServices(ctx context.Context, app string) (map[string]*corev1.Service, error) {
	list, err := p.client.CoreV1().Services(p.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: DefaultConfig().OwnerLabel() + "=" + app,
	})
	if err != nil {
		return nil, err
	}
	services := map[string]*corev1.Service{}
	for i := range list.Items {
		services[list.Items[i].Name] = &list.Items[i]
	}
	return services, nil
}

func (p *playground) untilSlotServices(app string, n int) {
	p.Helper()
	p.until(fmt.Sprintf("%d slot services of %s", n, app), func(ctx context.Context) error {
		got, err := p.slotServices(ctx, app)
		if err == nil && len(got) != n {
			err = fmt.Errorf("there are %d", len(got))
		}
		return err
	})
}

// pods are all pods as the rules see them.
func (p *playground) pods(ctx context.Context) ([]Pod, error) {
	list, err := p.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var pods []Pod
	for i := range list.Items {
		pod, err := DefaultConfig().PodOf(&list.Items[i])
		if err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
	return pods, nil
}
