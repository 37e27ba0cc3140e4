package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"secondhop/internal/kube"
)

// SlotLabel is the pod label that carries a slot's number.
const SlotLabel = "eqtv.io/local-slot"

// PodLife is when the stations of a pod's life were seen. A zero time is a
// station that was not reached; Before marks a pod that is older than the watch,
// whose earlier stations are not known.
type PodLife struct {
	Name   string `json:"name"`
	UID    string `json:"uid"`
	Node   string `json:"node"`
	Slot   string `json:"slot"`
	Before bool   `json:"before"`
	// Owner is its controller, such as "ReplicaSet/my-app-1-7d4b9c6f5d".
	Owner   string `json:"owner,omitempty"`
	Address string `json:"address,omitempty"`

	Created   time.Time `json:"created"`
	Scheduled time.Time `json:"scheduled"`
	Labelled  time.Time `json:"labelled"`
	Ready     time.Time `json:"ready"`
	Deleting  time.Time `json:"deleting"`
	// Finished is when all its containers had ended for good. From then on it is
	// in no EndpointSlice and holds no slot, though it may still exist.
	Finished time.Time `json:"finished"`
	Gone     time.Time `json:"gone"`
}

// holdsUntil is when the pod's slot was free again; zero while it is not.
func (p PodLife) holdsUntil() time.Time {
	if !p.Finished.IsZero() {
		return p.Finished
	}
	return p.Gone
}

// PodReport is every pod that existed during the watch, oldest first, and every
// instant at which two pods of a node that had not ended carried the same number.
type PodReport struct {
	Coverage
	Pods       []PodLife       `json:"pods"`
	Violations []SlotViolation `json:"violations"`
	// Readiness and Labels are the histories of what may change more than once. They
	// begin with what each pod had when it was first seen.
	Readiness []ReadyChange `json:"readiness,omitempty"`
	Labels    []LabelChange `json:"labels,omitempty"`
}

// ReadyChange is a pod that became ready or stopped being so.
type ReadyChange struct {
	At    time.Time `json:"at"`
	Pod   string    `json:"pod"`
	Ready bool      `json:"ready"`
}

// LabelChange is a pod whose slot label was written; an empty slot is a label that
// was taken away.
type LabelChange struct {
	At   time.Time `json:"at"`
	Pod  string    `json:"pod"`
	Slot string    `json:"slot"`
	// Writer is the field manager that owns the label, as the API server has it; empty
	// for a label that the pod was made with.
	Writer string `json:"writer,omitempty"`
}

// LabelLatencies is, for each pod that was labelled during the watch, the time
// from when it could have been labelled until its label was seen: from when it
// was scheduled or, if that is later, from when its slot's previous holder had
// ended. Sorted.
func (r PodReport) LabelLatencies() []time.Duration {
	var latencies []time.Duration
	for _, pod := range r.Pods {
		if pod.Labelled.IsZero() || pod.Scheduled.IsZero() {
			continue
		}
		possible := pod.Scheduled
		for _, other := range r.Pods {
			held := other.UID != pod.UID && other.Node == pod.Node && other.Slot == pod.Slot
			if free := other.holdsUntil(); held && free.After(possible) && !free.After(pod.Labelled) {
				possible = free
			}
		}
		latencies = append(latencies, pod.Labelled.Sub(possible))
	}
	slices.Sort(latencies)
	return latencies
}

// PodWatcher follows the lives of an application's pods.
type PodWatcher struct {
	follower *follower[*corev1.Pod]
	tracker  *podTracker
}

// WatchPods begins to follow the pods that selector matches.
func WatchPods(ctx context.Context, client kubernetes.Interface, namespace, selector string, sink Sink) (*PodWatcher, error) {
	api := client.CoreV1().Pods(namespace)
	from := source[*corev1.Pod]{
		subject: fmt.Sprintf("pods %s of %s", selector, namespace),
		list: func(ctx context.Context, opts metav1.ListOptions) ([]*corev1.Pod, string, error) {
			opts.LabelSelector = selector
			list, err := api.List(ctx, opts)
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.ResourceVersion, nil
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = selector
			return api.Watch(ctx, opts)
		},
	}
	tracker := &podTracker{sink: sink, lives: map[string]*PodLife{}}
	f, err := follow(ctx, from, tracker)
	if err != nil {
		return nil, err
	}
	return &PodWatcher{f, tracker}, nil
}

// Finish waits until the watch has seen everything up to now and ends it.
func (w *PodWatcher) Finish(ctx context.Context) (PodReport, error) {
	coverage, err := w.follower.finish(ctx)
	report := PodReport{
		Coverage: coverage, Violations: w.tracker.violations,
		Readiness: w.tracker.readiness, Labels: w.tracker.labels,
	}
	for _, uid := range w.tracker.order {
		report.Pods = append(report.Pods, *w.tracker.lives[uid])
	}
	return report, err
}

// podTracker turns changes of pods into lives. Its follower calls it one at a time.
type podTracker struct {
	sink       Sink
	order      []string // UIDs as they appeared
	lives      map[string]*PodLife
	violations []SlotViolation
	readiness  []ReadyChange
	labels     []LabelChange
}

func (t *podTracker) reset(at time.Time, pods []*corev1.Pod) {
	first := len(t.order) == 0
	exists := map[string]bool{}
	for _, pod := range pods {
		exists[string(pod.UID)] = true
		if first {
			t.adopt(at, pod)
		} else {
			t.update(at, pod)
		}
	}
	for uid, life := range t.lives {
		if !exists[uid] && life.Gone.IsZero() {
			t.station(&life.Gone, at, EventPodGone, life)
		}
	}
	t.check(at)
}

// adopt takes up a pod that is older than the watch: what it has reached already
// was reached before, at a time unknown.
func (t *podTracker) adopt(at time.Time, pod *corev1.Pod) {
	life := t.add(pod)
	life.Before = true
	life.Node, life.Slot = pod.Spec.NodeName, pod.Labels[SlotLabel]
	life.Address = pod.Status.PodIP
	t.note(at, life, pod)
}

func (t *podTracker) add(pod *corev1.Pod) *PodLife {
	uid := string(pod.UID)
	life := &PodLife{Name: pod.Name, UID: uid}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		life.Owner = owner.Kind + "/" + owner.Name
	}
	t.lives[uid] = life
	t.order = append(t.order, uid)
	return life
}

func (t *podTracker) change(at time.Time, kind watch.EventType, pod *corev1.Pod) {
	t.update(at, pod)
	if kind == watch.Deleted {
		life := t.lives[string(pod.UID)]
		t.station(&life.Gone, at, EventPodGone, life)
	}
	t.check(at)
}

func (t *podTracker) update(at time.Time, pod *corev1.Pod) {
	life := t.lives[string(pod.UID)]
	if life == nil {
		life = t.add(pod)
		t.station(&life.Created, at, EventPodCreated, life)
	}
	if pod.Status.PodIP != "" {
		life.Address = pod.Status.PodIP
	}
	t.note(at, life, pod)
	hadNode, hadSlot := life.Node != "", life.Slot != ""
	if pod.Spec.NodeName != "" {
		life.Node = pod.Spec.NodeName
	}
	if slot, ok := pod.Labels[SlotLabel]; ok {
		life.Slot = slot
	}
	if !hadNode && life.Node != "" {
		t.station(&life.Scheduled, at, EventPodScheduled, life)
	}
	if !hadSlot && life.Slot != "" {
		t.station(&life.Labelled, at, EventPodLabelled, life)
	}
	if !life.Before && kube.Ready(pod) {
		t.station(&life.Ready, at, EventPodReady, life)
	}
	if pod.DeletionTimestamp != nil {
		t.station(&life.Deleting, at, EventPodDeleting, life)
	}
	if kube.Finished(pod) {
		t.station(&life.Finished, at, EventPodFinished, life)
	}
}

// station notes the first time that a pod reached something.
func (t *podTracker) station(when *time.Time, at time.Time, kind EventKind, life *PodLife) {
	if !when.IsZero() {
		return
	}
	*when = at
	event := Event{At: at, Kind: kind, Node: life.Node, Subject: life.Name}
	if kind == EventPodLabelled {
		event.Detail = "slot " + life.Slot
	}
	t.sink.send(event)
}

// check asserts the rule at its source: among the pods of a node that have not
// ended, whether they run or terminate, a number is used once.
func (t *podTracker) check(at time.Time) {
	type place struct{ node, slot string }
	holders := map[place][]string{}
	for _, life := range t.lives {
		if life.holdsUntil().IsZero() && life.Slot != "" {
			p := place{life.Node, life.Slot}
			holders[p] = append(holders[p], life.Name)
		}
	}
	for p, pods := range holders {
		if len(pods) > 1 {
			slices.Sort(pods)
			t.violations = append(t.violations, SlotViolation{at, "label " + SlotLabel + "=" + p.slot, p.node, pods})
		}
	}
}
