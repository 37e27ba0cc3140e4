// Package trial holds what one load on one deployed application is and what came
// of it: the requests, the events under them, and all that was observed. Checks
// judge it; the runner makes it.
package trial

import (
	"fmt"
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

// Spec is one load and what happens under it.
type Spec struct {
	Name string // of the folder of its results; unique in a run
	Load Load
	// Before is for how long there is load before the first event, After for how
	// long after the last one is done. Both are only used with events.
	Before, After time.Duration
	Events        []faults.Event
}

// Validate says what is wrong with a trial before anything is sent.
func (s Spec) Validate() error {
	switch {
	case s.Name == "":
		return fmt.Errorf("trial without a name")
	case s.Load.Rate <= 0:
		return fmt.Errorf("trial %s: rate %v is not positive", s.Name, s.Load.Rate)
	case s.Load.Requests == 0 && len(s.Events) == 0:
		return fmt.Errorf("trial %s: neither a number of requests nor events that end it", s.Name)
	case s.Load.Requests > 0 && len(s.Events) > 0:
		return fmt.Errorf("trial %s: events end the run, so a number of requests cannot", s.Name)
	}
	return nil
}
