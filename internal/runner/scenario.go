package runner

import (
	"time"

	"secondhop/internal/faults"
	"secondhop/internal/units"
)

// Port is a frontend of the edge.
type Port int

const (
	// PolicyPort serves with the policy that the application's Ingress asks for.
	PolicyPort Port = 80
	// BaselinePort serves the same application over all its endpoints, in the same
	// HAProxy process: A/B runs need no deployment in between.
	BaselinePort Port = 81
)

// Load is what the client sends, open loop and even per node.
type Load struct {
	Rate     float64 // requests per second over all nodes
	Requests uint64  // the run ends after so many; 0 means when the events are through
	Port     Port    // PolicyPort if 0
	Answer   units.Bytes
	// Probe makes the edge balancer check the ingresses and leave out those that
	// do not answer; without it every node gets its share always.
	Probe bool
	// Background is how much each node receives besides, from the client into a
	// sink on the node; nodes that are not in it receive nothing.
	Background map[string]units.BitRate
}

// Scenario is one load and what happens under it.
type Scenario struct {
	Name string // of the folder of its results; unique in a run
	Load Load
	// Before is for how long there is load before the first event, After for how
	// long after the last one is done. Both are only used with events.
	Before, After time.Duration
	Events        []faults.Event
}
