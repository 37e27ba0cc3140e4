package usher

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"secondhop/internal/envtest"
)

// BenchmarkScheduledToLabelled binds 16 pods to four nodes at once and reports how
// long it is from each binding until a watcher sees the number, both as the
// watcher sees them. The server is real, but has no other work. Each round frees
// all numbers again.
func BenchmarkScheduledToLabelled(b *testing.B) {
	server := envtest.Start(b)
	client, err := kubernetes.NewForConfig(server.Admin())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	r := newRounds(b, ctx, client)
	done := make(chan error, 1)
	usherContext, stop := context.WithCancel(ctx)
	go func() {
		done <- New(client, DefaultConfig(), Lease{Namespace: "bench", Name: "usher", Identity: "bench"}, "", slog.New(slog.DiscardHandler)).Run(usherContext)
	}()
	r.round() // the first one waits for the election
	var delays []time.Duration
	for b.Loop() {
		delays = append(delays, r.round()...)
	}
	stop()
	r.must(<-done)
	slices.Sort(delays)
	at := func(q float64) float64 { return float64(delays[int(q*float64(len(delays)-1))].Microseconds()) / 1000 }
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
	b.ReportMetric(float64(len(delays)), "pods")
}

// rounds plays scheduler and kubelet, and watches.
type rounds struct {
	*testing.B
	ctx    context.Context
	client kubernetes.Interface
	events watch.Interface
	made   int
}

func newRounds(b *testing.B, ctx context.Context, client kubernetes.Interface) *rounds {
	r := &rounds{B: b, ctx: ctx, client: client}
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}, metav1.CreateOptions{})
	r.must(err)
	_, err = client.CoreV1().Services("bench").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{DefaultConfig().SlotsAnnotation(): "4"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	r.must(err)
	r.events, err = client.CoreV1().Pods("bench").Watch(ctx, metav1.ListOptions{})
	r.must(err)
	b.Cleanup(r.events.Stop)
	return r
}

func (r *rounds) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// round makes 16 pods, binds them at once, waits for all numbers and removes them.
func (r *rounds) round() []time.Duration {
	var names []string
	for range 16 {
		name := fmt.Sprintf("pod-%05d", r.made)
		r.made++
		names = append(names, name)
		_, err := r.client.CoreV1().Pods("bench").Create(r.ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
		}, metav1.CreateOptions{})
		r.must(err)
	}
	bound := make(chan error, len(names))
	for i, name := range names {
		go func() {
			bound <- r.client.CoreV1().Pods("bench").Bind(r.ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Target:     corev1.ObjectReference{Kind: "Node", Name: fmt.Sprint("n", i%4)},
			}, metav1.CreateOptions{})
		}()
	}
	delays := r.labelled(len(names))
	for range names {
		r.must(<-bound)
	}
	var now int64
	for _, name := range names {
		r.must(r.client.CoreV1().Pods("bench").Delete(r.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
	r.gone(len(names))
	return delays
}

// labelled reads events until n pods have a number.
func (r *rounds) labelled(n int) []time.Duration {
	scheduled := map[string]time.Time{}
	var delays []time.Duration
	for len(delays) < n {
		pod := r.next(watch.Modified)
		begun, seen := scheduled[pod.Name]
		switch _, numbered := pod.Labels[DefaultConfig().SlotLabel()]; {
		case !seen && pod.Spec.NodeName != "":
			scheduled[pod.Name] = time.Now()
		case seen && numbered && !begun.IsZero():
			delays = append(delays, time.Since(begun))
			scheduled[pod.Name] = time.Time{}
		}
	}
	return delays
}

func (r *rounds) gone(n int) {
	for range n {
		r.next(watch.Deleted)
	}
}

func (r *rounds) next(kind watch.EventType) *corev1.Pod {
	for e := range r.events.ResultChan() {
		if pod, ok := e.Object.(*corev1.Pod); ok && e.Type == kind {
			return pod
		}
	}
	r.Fatal("the watch ended")
	return nil
}
