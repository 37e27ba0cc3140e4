// Package policy decides which servers an ingress may send the requests of one
// app to. A policy is one function in one file and one line in all.
package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// App is what a policy may look at: one port of one Service, as the API shows it.
type App struct {
	Namespace, Service string
	Port               int32          // number of the Service's port
	ClusterIP          netip.AddrPort // zero for a headless Service
	Endpoints          []Endpoint     // all, whatever their state
	Slots              []Slot         // local slots that have a Service, by number
}

// Endpoint is one pod behind the Service, as its EndpointSlice describes it.
type Endpoint struct {
	Address  netip.AddrPort
	Node     string // Kubernetes node, "" when unknown
	Zone     string
	Ready    bool
	ForZones []string // zones hinted by the control plane
	ForNodes []string // nodes hinted by the control plane
}

// Slot is a slot Service: an address that reaches only a pod of the caller's node.
type Slot struct {
	Number    int
	Address   netip.AddrPort
	AgentPort uint16
}

// Node is where this ingress runs.
type Node struct{ Name, Zone string }

// Choice is the answer: the servers to balance over, and those that the draw may
// pick before.
type Choice struct {
	Endpoints []netip.AddrPort // balanced over; ignored when Service is set
	Service   netip.AddrPort   // one server that stands for all of them
	Slots     []Slot           // drawn first
	Published bool             // draws them as the method was first published
}

// Policy chooses for an ingress on node. An error means that the policy cannot
// be had for this app.
type Policy func(node Node, app App) (Choice, error)

// Fallback is the policy in place of one that is unknown or cannot be had: an
// app that is served less locally is better than one that is not served.
const Fallback = "endpoints"

func all() map[string]Policy {
	return map[string]Policy{
		Fallback:          Endpoints,
		"cluster-ip":      ClusterIP,
		"hints":           Hints,
		"slots":           Slots,
		"slots-published": SlotsPublished,
		"zone":            Zone,
	}
}

// Find returns the policy of that name; its error lists those that exist.
func Find(name string) (Policy, error) {
	if p, ok := all()[name]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("unknown endpoint policy %q, want one of %s", name, strings.Join(Names(), ", "))
}

// Names lists the policies in alphabetical order.
func Names() []string {
	var names []string
	for name := range all() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
