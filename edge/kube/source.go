// Package kube watches the Kubernetes API for what an ingress serves.
package kube

import (
	"context"
	"fmt"
	"time"

	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"

	"secondhop/edge/plan"
	"secondhop/edge/policy"
)

// Source keeps a copy of the Ingresses, Services and EndpointSlices of a cluster.
type Source struct {
	class     string
	node      policy.Node
	factory   informers.SharedInformerFactory
	ingresses networkinglisters.IngressLister
	services  corelisters.ServiceLister
	slices    discoverylisters.EndpointSliceLister
	changed   chan struct{}
}

// New makes a Source for the Ingresses of one class, seen from an ingress on node.
func New(client kubernetes.Interface, class string, node policy.Node) (*Source, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(dropManagedFields))
	s := &Source{
		class: class, node: node, factory: factory, changed: make(chan struct{}, 1),
		ingresses: factory.Networking().V1().Ingresses().Lister(),
		services:  factory.Core().V1().Services().Lister(),
		slices:    factory.Discovery().V1().EndpointSlices().Lister(),
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Networking().V1().Ingresses().Informer(),
		factory.Core().V1().Services().Informer(),
		factory.Discovery().V1().EndpointSlices().Informer(),
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { s.change() },
			UpdateFunc: func(any, any) { s.change() },
			DeleteFunc: func(any) { s.change() },
		}); err != nil {
			return nil, fmt.Errorf("watch kubernetes: %w", err)
		}
	}
	return s, nil
}

// dropManagedFields saves most of the memory that the copies would take.
func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func (s *Source) change() {
	select {
	case s.changed <- struct{}{}:
	default: // one that is not yet looked at covers this one too
	}
}

// Start begins to watch, until ctx ends, and returns when the first copy is whole.
func (s *Source) Start(ctx context.Context) error {
	s.factory.Start(ctx.Done())
	waiting, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	for kind, ok := range s.factory.WaitForCacheSync(waiting.Done()) {
		if !ok {
			return fmt.Errorf("watch kubernetes: no copy of %s after %s; may this service account list them, and does the API answer?", kind, syncLimit)
		}
	}
	return nil
}

const syncLimit = 60 * time.Second

// Stop waits for the watches to end, after the ctx of Start has.
func (s *Source) Stop() { s.factory.Shutdown() }

// Changed has a value after anything has changed since it was last received.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Snapshot is what the copies say now.
func (s *Source) Snapshot() (plan.Snapshot, []plan.Problem) {
	snapshot := plan.Snapshot{Node: s.node, Apps: map[plan.AppKey]policy.App{}}
	all, _ := s.ingresses.List(labels.Everything()) // a lister of a copy does not fail
	var problems []plan.Problem
	for _, object := range all {
		if !s.ours(object) {
			continue
		}
		ingress, more := ingress(object)
		problems = append(problems, more...)
		snapshot.Ingresses = append(snapshot.Ingresses, ingress)
		for _, rule := range ingress.Rules {
			if _, ok := snapshot.Apps[rule.App]; ok {
				continue
			}
			app, found, more := s.app(rule.App)
			for _, message := range more {
				problems = append(problems, problem(object, "SlotService", message))
			}
			if found {
				snapshot.Apps[rule.App] = app
			}
		}
	}
	return snapshot, problems
}

func (s *Source) ours(i *networking.Ingress) bool {
	if name := i.Spec.IngressClassName; name != nil {
		return *name == s.class
	}
	return i.Annotations["kubernetes.io/ingress.class"] == s.class
}
