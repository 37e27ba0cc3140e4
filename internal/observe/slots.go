package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// SlotViolation is an instant at which a slot Service had more than one pod on a
// node. Clients cannot see it: kube-proxy balances between the two, and the
// slot's checks and requests reach different pods.
type SlotViolation struct {
	At      time.Time `json:"at"`
	Service string    `json:"service"`
	Node    string    `json:"node"`
	Pods    []string  `json:"pods"`
}

func (v SlotViolation) String() string {
	return fmt.Sprintf("%s: %s reaches %s on %s", v.At.Format(time.TimeOnly), v.Service, strings.Join(v.Pods, " and "), v.Node)
}

// SlotReport is what was seen of the slot EndpointSlices. Violations has one entry
// for every change after which a rule was broken.
type SlotReport struct {
	Coverage
	Services   []string        `json:"services"`
	Violations []SlotViolation `json:"violations"`
}

// SlotWatcher checks, at every change of any EndpointSlice of the slot Services,
// that each of them has at most one pod per node.
type SlotWatcher struct {
	follower *follower[*discoveryv1.EndpointSlice]
	tracker  *slotTracker
}

// WatchSlots begins to watch the slot Services of a namespace.
func WatchSlots(ctx context.Context, client kubernetes.Interface, namespace string, services []string, sink Sink) (*SlotWatcher, error) {
	tracker := &slotTracker{services: services, sink: sink}
	f, err := follow(ctx, sliceSource(client, namespace, services), tracker)
	if err != nil {
		return nil, err
	}
	return &SlotWatcher{f, tracker}, nil
}

// Finish waits until the watch has seen everything up to now and ends it.
func (w *SlotWatcher) Finish(ctx context.Context) (SlotReport, error) {
	coverage, err := w.follower.finish(ctx)
	return SlotReport{coverage, w.tracker.services, w.tracker.violations}, err
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// slotTracker is the rule, without the API. Its follower calls it one at a time.
type slotTracker struct {
	services   []string
	sink       Sink
	slices     map[string]*discoveryv1.EndpointSlice // by name
	violations []SlotViolation
}

func (t *slotTracker) reset(at time.Time, all []*discoveryv1.EndpointSlice) {
	t.slices = map[string]*discoveryv1.EndpointSlice{}
	for _, slice := range all {
		t.slices[slice.Name] = slice
	}
	for _, service := range t.services {
		t.check(at, service)
	}
}

func (t *slotTracker) change(at time.Time, kind watch.EventType, slice *discoveryv1.EndpointSlice) {
	if kind == watch.Deleted {
		delete(t.slices, slice.Name)
	} else {
		t.slices[slice.Name] = slice
	}
	t.check(at, slice.Labels[discoveryv1.LabelServiceName])
}

// check looks at all slices of one Service together: a pod that moves between
// two slices is in both for a moment and still only one pod.
func (t *slotTracker) check(at time.Time, service string) {
	pods := map[string]map[string]bool{} // by node
	for _, slice := range t.slices {
		if slice.Labels[discoveryv1.LabelServiceName] != service {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			node, pod := identify(endpoint)
			if pods[node] == nil {
				pods[node] = map[string]bool{}
			}
			pods[node][pod] = true
		}
	}
	for node, names := range pods {
		if len(names) > 1 {
			t.violated(SlotViolation{at, service, node, sortedKeys(names)})
		}
	}
}

func (t *slotTracker) violated(v SlotViolation) {
	t.violations = append(t.violations, v)
	t.sink.send(Event{At: v.At, Kind: EventSlotViolation, Node: v.Node, Subject: v.Service, Detail: strings.Join(v.Pods, " and ")})
}

// identify names an endpoint's node and pod; what has no pod is its address.
func identify(endpoint discoveryv1.Endpoint) (node, pod string) {
	if endpoint.NodeName != nil {
		node = *endpoint.NodeName
	}
	if endpoint.TargetRef != nil && endpoint.TargetRef.Name != "" {
		return node, endpoint.TargetRef.Name
	}
	return node, strings.Join(endpoint.Addresses, ",")
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
