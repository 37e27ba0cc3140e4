package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestEndpointsOverTime(t *testing.T) {
	t.Parallel()
	const service = "my-app"
	tracker := &endpointTracker{services: []string{service, "empty"}, slices: map[string]*discoveryv1.EndpointSlice{}, last: map[string][]Endpoint{}}
	tracker.reset(second(0), []*discoveryv1.EndpointSlice{slotSlice("s", service, [2]string{"w1", "a"})})
	tracker.change(second(1), watch.Modified, slotSlice("s", service, [2]string{"w1", "a"})) // nothing new
	hinted := slotSlice("s", service, [2]string{"w1", "a"})
	hinted.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "zone-a"}}}
	tracker.change(second(2), watch.Modified, hinted)
	stopping := slotSlice("s", service, [2]string{"w1", "a"})
	no, yes := false, true
	stopping.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}
	tracker.change(second(3), watch.Modified, stopping)
	tracker.change(second(4), watch.Deleted, stopping)

	endpoint := Endpoint{Pod: "a", Node: "w1", Address: "198.18.129.5", Ready: true, Serving: true}
	withHint, terminating := endpoint, endpoint
	withHint.ForZones = []string{"zone-a"}
	terminating.Ready, terminating.Terminating = false, true
	want := []EndpointChange{
		{second(0), service, []Endpoint{endpoint}},
		{second(2), service, []Endpoint{withHint}},
		{second(3), service, []Endpoint{terminating}},
		{second(4), service, []Endpoint{}},
	}
	if diff := cmp.Diff(want, EndpointReport{Changes: tracker.changes}.Of(service)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if empty := (EndpointReport{Changes: tracker.changes}).Of("empty"); len(empty) != 1 || len(empty[0].Endpoints) != 0 {
		t.Errorf("a Service without endpoints: %v", empty)
	}
}

func TestNodesOverTime(t *testing.T) {
	t.Parallel()
	node := func(ready corev1.ConditionStatus, cordoned bool) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{corev1.LabelTopologyZone: "a"}},
			Spec:       corev1.NodeSpec{Unschedulable: cordoned},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
		}
	}
	tracker := &nodeTracker{last: map[string]NodeChange{}}
	tracker.reset(second(0), []*corev1.Node{node(corev1.ConditionTrue, false)})
	tracker.change(second(1), watch.Modified, node(corev1.ConditionTrue, false)) // its report on itself
	tracker.change(second(2), watch.Modified, node(corev1.ConditionTrue, true))
	tracker.change(second(3), watch.Modified, node(corev1.ConditionUnknown, true))
	tracker.reset(second(4), nil)
	want := []NodeChange{
		{At: second(0), Node: "w1", Exists: true, Ready: true, Zone: "a"},
		{At: second(2), Node: "w1", Exists: true, Ready: true, Cordoned: true, Zone: "a"},
		{At: second(3), Node: "w1", Exists: true, Cordoned: true, Zone: "a"},
		{At: second(4), Node: "w1"},
	}
	if diff := cmp.Diff(want, tracker.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// What a pod had when it was first seen begins its histories; the writer of a label is
// the manager that owns it.
func TestHistoriesOfAPod(t *testing.T) {
	t.Parallel()
	tracker := &podTracker{lives: map[string]*PodLife{}}
	tracker.reset(second(0), []*corev1.Pod{podState{"a", "w1", "", false, false}.pod()})
	written := podState{"a", "w1", "2", true, false}.pod()
	written.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}},
		{Manager: "usher", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{"f:` + SlotLabel + `":{}}}}`)}},
	}
	tracker.change(second(1), watch.Modified, written)
	tracker.change(second(2), watch.Modified, written)
	tracker.change(second(3), watch.Modified, podState{"a", "w1", "2", true, true}.pod())
	ready := []ReadyChange{{second(0), "a", false}, {second(1), "a", true}, {second(3), "a", false}}
	if diff := cmp.Diff(ready, tracker.readiness); diff != "" {
		t.Errorf("readiness (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]LabelChange{{second(1), "a", "2", "usher"}}, tracker.labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
