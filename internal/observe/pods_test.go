package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

type podState struct {
	name, node, slot string
	ready, deleting  bool
}

// finished is a pod whose containers have ended and that is being deleted.
type finished podState

func (s podState) pod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: s.name, UID: types.UID("uid-" + s.name)}}
	pod.Spec.NodeName = s.node
	if s.slot != "" {
		pod.Labels = map[string]string{SlotLabel: s.slot}
	}
	if s.ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if s.deleting {
		now := metav1.Now()
		pod.DeletionTimestamp = &now
	}
	return pod
}

// second is the time of the n-th step.
func second(n int) time.Time { return time.Unix(int64(n), 0) }

func replay(tracker *podTracker, steps ...any) {
	for i, s := range steps {
		switch s := s.(type) {
		case podState:
			tracker.change(second(i+1), watch.Modified, s.pod())
		case finished:
			pod := podState(s).pod()
			pod.Status.Phase = corev1.PodSucceeded
			tracker.change(second(i+1), watch.Modified, pod)
		case gone:
			tracker.change(second(i+1), watch.Deleted, podState(s).pod())
		}
	}
}

type gone podState

func TestPodLifeAndLatency(t *testing.T) {
	t.Parallel()
	tracker := &podTracker{lives: map[string]*PodLife{}}
	tracker.reset(second(0), []*corev1.Pod{podState{"old", "w1", "0", true, false}.pod()})
	replay(tracker,
		podState{"new", "", "", false, false},      // 1 created
		podState{"new", "w1", "", false, false},    // 2 scheduled
		podState{"new", "w1", "", true, false},     // 3 ready
		podState{"old", "w1", "0", true, true},     // 4 the old one is told to stop
		gone{"old", "w1", "0", false, true},        // 5 and is gone: its slot is free
		podState{"new", "w1", "0", true, false},    // 6 labelled
		podState{"other", "w2", "", false, false},  // 7 created and scheduled at once
		podState{"other", "w2", "0", false, false}, // 8 labelled: its slot was always free
	)
	report := PodReport{Violations: tracker.violations}
	for _, uid := range tracker.order {
		report.Pods = append(report.Pods, *tracker.lives[uid])
	}
	want := []PodLife{
		{Name: "old", UID: "uid-old", Node: "w1", Slot: "0", Before: true, Deleting: second(4), Gone: second(5)},
		{
			Name: "new", UID: "uid-new", Node: "w1", Slot: "0",
			Created: second(1), Scheduled: second(2), Ready: second(3), Labelled: second(6),
		},
		{Name: "other", UID: "uid-other", Node: "w2", Slot: "0", Created: second(7), Scheduled: second(7), Labelled: second(8)},
	}
	if diff := cmp.Diff(want, report.Pods); diff != "" {
		t.Errorf("lives (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{time.Second, time.Second}, report.LabelLatencies()); diff != "" {
		t.Errorf("latencies (-want +got):\n%s", diff)
	}
	if len(report.Violations) != 0 {
		t.Errorf("violations: %v", report.Violations)
	}
}

func TestPodTrackerSeesASlotThatIsHeldTwice(t *testing.T) {
	t.Parallel()
	tracker := &podTracker{lives: map[string]*PodLife{}}
	tracker.reset(second(0), []*corev1.Pod{podState{"old", "w1", "0", true, true}.pod()})
	replay(tracker,
		podState{"elsewhere", "w2", "0", true, false},
		podState{"new", "w1", "0", true, false}, // 2: the old one is still terminating
		gone{"old", "w1", "0", false, true},
	)
	want := []SlotViolation{{second(2), "label eqtv.io/local-slot=0", "w1", []string{"new", "old"}}}
	if diff := cmp.Diff(want, tracker.violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// usher may give a number away as soon as its holder's containers have ended:
// the pod is in no EndpointSlice any more, though it takes a while to go.
func TestAPodThatHasEndedHoldsNothing(t *testing.T) {
	t.Parallel()
	tracker := &podTracker{lives: map[string]*PodLife{}}
	tracker.reset(second(0), []*corev1.Pod{podState{"old", "w1", "0", true, true}.pod()})
	replay(tracker,
		podState{"new", "w1", "", true, false},
		finished{"old", "w1", "0", false, true}, // 2
		podState{"new", "w1", "0", true, false}, // 3
		gone{"old", "w1", "0", false, true},     // 4
	)
	if len(tracker.violations) != 0 {
		t.Errorf("violations: %v", tracker.violations)
	}
	report := PodReport{Pods: []PodLife{*tracker.lives["uid-old"], *tracker.lives["uid-new"]}}
	if diff := cmp.Diff([]time.Duration{time.Second}, report.LabelLatencies()); diff != "" {
		t.Errorf("latency counts from the end of the holder (-want +got):\n%s", diff)
	}
}

func TestPodTrackerRelist(t *testing.T) {
	t.Parallel()
	tracker := &podTracker{lives: map[string]*PodLife{}}
	tracker.reset(second(0), []*corev1.Pod{podState{"a", "w1", "0", true, false}.pod()})
	tracker.reset(second(5), []*corev1.Pod{podState{"b", "w1", "0", true, false}.pod()})
	if got := tracker.lives["uid-a"].Gone; !got.Equal(second(5)) {
		t.Errorf("a pod that vanished between two lists is gone at %v, want %v", got, second(5))
	}
	if got := tracker.lives["uid-b"]; got.Before || !got.Created.Equal(second(5)) {
		t.Errorf("a pod that appeared between two lists: %+v", got)
	}
}
