package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// slotSlice builds an EndpointSlice from "node/pod" endpoints.
func slotSlice(name, service string, endpoints ...[2]string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service},
	}}
	for _, e := range endpoints {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			NodeName: &e[0], Addresses: []string{"198.18.129.5"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: e[1]},
		})
	}
	return slice
}

func TestSlotTracker(t *testing.T) {
	t.Parallel()
	const slot0, slot1 = "my-app-slot-0", "my-app-slot-1"
	at := time.Unix(1000, 0)
	type step struct {
		kind  watch.EventType
		slice *discoveryv1.EndpointSlice
	}
	clash := []SlotViolation{{at, slot0, "w1", []string{"a", "b"}}}
	for _, tc := range []struct {
		name  string
		start []*discoveryv1.EndpointSlice
		steps []step
		want  []SlotViolation
	}{
		{"one pod a node", nil, []step{
			{watch.Added, slotSlice("s", slot0, [2]string{"w1", "a"}, [2]string{"w2", "b"})},
		}, nil},
		{"two pods on a node", nil, []step{
			{watch.Added, slotSlice("s", slot0, [2]string{"w1", "b"}, [2]string{"w1", "a"})},
		}, clash},
		{"two pods on a node from the start", []*discoveryv1.EndpointSlice{
			slotSlice("s", slot0, [2]string{"w1", "a"}, [2]string{"w1", "b"}),
		}, nil, clash},
		{"two pods on a node in two slices", []*discoveryv1.EndpointSlice{slotSlice("s", slot0, [2]string{"w1", "a"})}, []step{
			{watch.Added, slotSlice("t", slot0, [2]string{"w1", "b"})},
		}, clash},
		{"a pod that moves between slices", []*discoveryv1.EndpointSlice{slotSlice("s", slot0, [2]string{"w1", "a"})}, []step{
			{watch.Added, slotSlice("t", slot0, [2]string{"w1", "a"})},
			{watch.Modified, slotSlice("s", slot0)},
		}, nil},
		{"the same node in two slots", nil, []step{
			{watch.Added, slotSlice("s", slot0, [2]string{"w1", "a"})},
			{watch.Added, slotSlice("t", slot1, [2]string{"w1", "b"})},
		}, nil},
		{"a successor in one change", []*discoveryv1.EndpointSlice{slotSlice("s", slot0, [2]string{"w1", "a"})}, []step{
			{watch.Modified, slotSlice("s", slot0, [2]string{"w1", "b"})},
		}, nil},
		{"a successor too early, for one change only", []*discoveryv1.EndpointSlice{slotSlice("s", slot0, [2]string{"w1", "a"})}, []step{
			{watch.Modified, slotSlice("s", slot0, [2]string{"w1", "a"}, [2]string{"w1", "b"})},
			{watch.Modified, slotSlice("s", slot0, [2]string{"w1", "b"})},
		}, clash},
		{"a slice that is gone holds nothing", []*discoveryv1.EndpointSlice{slotSlice("s", slot0, [2]string{"w1", "a"})}, []step{
			{watch.Deleted, slotSlice("s", slot0, [2]string{"w1", "a"})},
			{watch.Added, slotSlice("t", slot0, [2]string{"w1", "b"})},
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var sent int
			tracker := &slotTracker{services: []string{slot0, slot1}, sink: func(Event) { sent++ }}
			tracker.reset(at, tc.start)
			for _, s := range tc.steps {
				tracker.change(at, s.kind, s.slice)
			}
			if diff := cmp.Diff(tc.want, tracker.violations); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			if sent != len(tc.want) {
				t.Errorf("%d events were sent, want %d", sent, len(tc.want))
			}
		})
	}
}
