// Package kube is what the harness needs of a Kubernetes API beyond plain typed
// calls: applying rendered manifests, running programs in pods, and waits that
// know when a roll-out is really over.
package kube

import (
	"fmt"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager is the name under which all applied fields are owned.
const FieldManager = "secondhop"

// The lab's API server has no other user: client-go's default of 5 requests a
// second would only make the waits slow.
const (
	requestsPerSecond = 200
	requestBurst      = 400
)

// Client talks to one cluster. It is safe for concurrent use.
type Client struct {
	Typed   kubernetes.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	config  *rest.Config
}

// New makes a client; it does not touch the network.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	config.UserAgent = FieldManager
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", config.Host, err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("dynamic client for %s: %w", config.Host, err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery()))
	return &Client{Typed: typed, dynamic: dyn, mapper: mapper, config: config}, nil
}
