package observe

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Endpoint is one endpoint of a Service, as its EndpointSlices have it.
type Endpoint struct {
	Pod         string   `json:"pod"`
	Node        string   `json:"node"`
	Address     string   `json:"address"`
	Ready       bool     `json:"ready"`
	Serving     bool     `json:"serving"`
	Terminating bool     `json:"terminating,omitempty"`
	ForZones    []string `json:"forZones,omitempty"` // hints
	ForNodes    []string `json:"forNodes,omitempty"` // hints
}

// EndpointChange is all endpoints of a Service, after a change of them.
type EndpointChange struct {
	At        time.Time  `json:"at"`
	Service   string     `json:"service"`
	Endpoints []Endpoint `json:"endpoints"`
}

// EndpointReport is how the endpoints of Services went. Changes begin with what each
// Service had at the start; a change that shows in no field of an Endpoint is left out.
type EndpointReport struct {
	Coverage
	Services []string         `json:"services"`
	Changes  []EndpointChange `json:"changes"`
}

// Of is the changes of one Service.
func (r EndpointReport) Of(service string) []EndpointChange {
	var changes []EndpointChange
	for _, change := range r.Changes {
		if change.Service == service {
			changes = append(changes, change)
		}
	}
	return changes
}

// EndpointWatcher follows the endpoints of Services.
type EndpointWatcher struct {
	follower *follower[*discoveryv1.EndpointSlice]
	tracker  *endpointTracker
}

// WatchEndpoints begins to follow the endpoints of the Services of a namespace.
func WatchEndpoints(ctx context.Context, client kubernetes.Interface, namespace string, services []string) (*EndpointWatcher, error) {
	tracker := &endpointTracker{services: services, slices: map[string]*discoveryv1.EndpointSlice{}, last: map[string][]Endpoint{}}
	f, err := follow(ctx, sliceSource(client, namespace, services), tracker)
	if err != nil {
		return nil, err
	}
	return &EndpointWatcher{f, tracker}, nil
}

// Finish waits until the watch has seen everything up to now and ends it.
func (w *EndpointWatcher) Finish(ctx context.Context) (EndpointReport, error) {
	coverage, err := w.follower.finish(ctx)
	return EndpointReport{coverage, w.tracker.services, w.tracker.changes}, err
}

// sliceSource is the EndpointSlices of Services.
func sliceSource(client kubernetes.Interface, namespace string, services []string) source[*discoveryv1.EndpointSlice] {
	api := client.DiscoveryV1().EndpointSlices(namespace)
	selector := fmt.Sprintf("%s in (%s)", discoveryv1.LabelServiceName, strings.Join(services, ","))
	return source[*discoveryv1.EndpointSlice]{
		subject: "EndpointSlices of " + namespace,
		list: func(ctx context.Context, opts metav1.ListOptions) ([]*discoveryv1.EndpointSlice, string, error) {
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
}

// endpointTracker keeps what Services consist of. Its follower calls it one at a time.
type endpointTracker struct {
	services []string
	slices   map[string]*discoveryv1.EndpointSlice // by name
	last     map[string][]Endpoint                 // by Service; nil for one that was not noted yet
	changes  []EndpointChange
}

func (t *endpointTracker) reset(at time.Time, all []*discoveryv1.EndpointSlice) {
	clear(t.slices)
	for _, slice := range all {
		t.slices[slice.Name] = slice
	}
	for _, service := range t.services {
		t.note(at, service)
	}
}

func (t *endpointTracker) change(at time.Time, kind watch.EventType, slice *discoveryv1.EndpointSlice) {
	if kind == watch.Deleted {
		delete(t.slices, slice.Name)
	} else {
		t.slices[slice.Name] = slice
	}
	t.note(at, slice.Labels[discoveryv1.LabelServiceName])
}

// note adds the state of a Service if it differs from the last one.
func (t *endpointTracker) note(at time.Time, service string) {
	now := []Endpoint{}
	for _, slice := range t.slices {
		if slice.Labels[discoveryv1.LabelServiceName] == service {
			for _, endpoint := range slice.Endpoints {
				now = append(now, endpointOf(endpoint))
			}
		}
	}
	slices.SortFunc(now, func(a, b Endpoint) int {
		return strings.Compare(a.Pod+" "+a.Address, b.Pod+" "+b.Address)
	})
	if t.last[service] != nil && reflect.DeepEqual(t.last[service], now) {
		return
	}
	t.last[service] = now
	t.changes = append(t.changes, EndpointChange{at, service, now})
}

// endpointOf reads one endpoint; conditions that are not set have the meaning that
// the API gives to their absence.
func endpointOf(e discoveryv1.Endpoint) Endpoint {
	is := func(value *bool, absent bool) bool {
		if value == nil {
			return absent
		}
		return *value
	}
	node, pod := identify(e)
	ready := is(e.Conditions.Ready, true)
	endpoint := Endpoint{
		Pod: pod, Node: node, Address: strings.Join(e.Addresses, ","), Ready: ready,
		Serving: is(e.Conditions.Serving, ready), Terminating: is(e.Conditions.Terminating, false),
	}
	if e.Hints != nil {
		for _, zone := range e.Hints.ForZones {
			endpoint.ForZones = append(endpoint.ForZones, zone.Name)
		}
		for _, node := range e.Hints.ForNodes {
			endpoint.ForNodes = append(endpoint.ForNodes, node.Name)
		}
	}
	return endpoint
}
