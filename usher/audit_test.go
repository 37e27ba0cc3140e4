package usher

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// auditor follows every change of the pods of a namespace, in the order in which
// the server made them, and checks the rules at each.
type auditor struct {
	mu       sync.Mutex
	pods     map[types.UID]Pod
	problems []string
	events   int
	seen     uint64 // newest resourceVersion
	stop     func()
	done     chan struct{}
}

func (p *playground) audit() *auditor {
	p.Helper()
	list, err := p.client.CoreV1().Pods(p.namespace).List(p.Context(), metav1.ListOptions{})
	p.must(err)
	if len(list.Items) > 0 {
		p.Fatal("audit before the first pod is made")
	}
	ctx, cancel := context.WithCancel(p.Context())
	w, err := p.client.CoreV1().Pods(p.namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	p.must(err)
	a := &auditor{pods: map[types.UID]Pod{}, done: make(chan struct{})}
	a.stop = func() { cancel(); w.Stop(); <-a.done }
	p.Cleanup(a.stop)
	go func() {
		defer close(a.done)
		for e := range w.ResultChan() {
			a.take(ctx, e)
		}
	}()
	return a
}

func (a *auditor) take(ctx context.Context, e watch.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	object, ok := e.Object.(*corev1.Pod)
	if !ok {
		if ctx.Err() == nil {
			a.problems = append(a.problems, fmt.Sprintf("the watch broke: %v", e.Object))
		}
		return
	}
	pod, err := DefaultConfig().PodOf(object)
	if err != nil {
		a.problems = append(a.problems, err.Error())
		return
	}
	a.events++
	a.seen = pod.Version
	before, known := a.pods[pod.UID]
	if e.Type == watch.Deleted {
		delete(a.pods, pod.UID)
		return
	}
	a.pods[pod.UID] = pod
	if known && before.Labelled && pod.Labels["app"] == "web" && !pod.Ended && pod.Slot != before.Slot {
		a.problems = append(a.problems, fmt.Sprintf("live pod %s: number %q became %q", pod.Name, before.Slot, pod.Slot))
	}
	for _, other := range a.pods {
		if other.UID != pod.UID && other.Node == pod.Node && other.Labels["app"] == pod.Labels["app"] &&
			other.Labelled && pod.Labelled && other.Slot == pod.Slot && !other.Ended && !pod.Ended {
			a.problems = append(a.problems, fmt.Sprintf("node %s: number %s held by %s and %s", pod.Node, pod.Slot, other.Name, pod.Name))
		}
	}
}

// catchUp waits until the auditor has seen all that the server did so far.
func (a *auditor) catchUp(p *playground) {
	p.Helper()
	p.create("audit", "marker", "none")
	p.until("the auditor to catch up", func(context.Context) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, pod := range a.pods {
			if pod.Name == "marker" {
				return nil
			}
		}
		return fmt.Errorf("it is at %d", a.seen)
	})
	p.finish("marker")
}

// report gives all problems so far and how many events were looked at.
func (a *auditor) report(p *playground) ([]string, int) {
	p.Helper()
	a.catchUp(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.problems, a.events
}

// clean fails the test if there were problems or nothing was seen.
func (a *auditor) clean(p *playground) {
	p.Helper()
	problems, events := a.report(p)
	for _, problem := range problems {
		p.Error(problem)
	}
	if events == 0 {
		p.Error("the auditor saw nothing")
	}
	p.Logf("%d changes of pods looked at", events)
}
