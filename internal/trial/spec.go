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
	Method   string        // GET if empty
	Body     units.Bytes   // of each request
	Timeout  time.Duration // of a request; 15 s if 0
	// PerRequest opens a connection for each request.
	PerRequest bool
	// Direct says that Port is the application's own on every node, not an ingress's.
	Direct bool
	// Weights are how much of the load each node gets, relative to the others; nil
	// means even. A node with 0, or not in it, gets none.
	Weights map[string]int
	// Probe makes the edge balancer check the ingresses and leave out those that
	// do not answer; without it every node gets its share always.
	Probe *Probe
	// Background is how much each node receives besides, from the client into a
	// sink on the node; nodes that are not in it receive nothing.
	Background map[string]units.BitRate
}

// Probe is the health check of the edge balancer.
type Probe struct {
	Interval, Timeout time.Duration
	Fall, Rise        int // checks in a row that take a node out, and bring it back
}

// DefaultProbe takes a node out two seconds after it has begun to drain.
func DefaultProbe() *Probe {
	return &Probe{Interval: time.Second, Timeout: time.Second, Fall: 2, Rise: 2}
}

// Spec is one load and what happens under it.
type Spec struct {
	Name string // of the folder of its results; unique in a run
	Load Load
	// Before is for how long there is load before the first event, After for how
	// long after the last one is done. Both are only used with events.
	Before, After time.Duration
	Events        []Planned
}

// Planned is an event and when it is to happen.
type Planned struct {
	Name string // for others to refer to; unique in a trial
	// Make gives the event, anew for each repetition.
	Make func() (faults.Event, error)
	When When
	// For is how long it stays in force, from when it was applied; 0 means until the
	// load has ended. An event that changes nothing for good does not care.
	For time.Duration
	// Repeat does it so many times in all, each Every after the one before was done.
	Repeat int
	Every  time.Duration
}

// When is an instant of the load: Delay from its start, or from when another event
// was under way or, with Done, over. Zero is the end of Spec.Before.
type When struct {
	After string // name of a planned event
	Done  bool
	Delay time.Duration
}

// InTurn plans events one after the other, each undone as soon as it is over.
func InTurn(events ...faults.Event) []Planned {
	const atOnce = 1 // the least time; 0 would be all of it
	var planned []Planned
	for i, event := range events {
		p := Planned{
			Name: fmt.Sprintf("%d: %s", i+1, event.Name()), For: atOnce,
			Make: func() (faults.Event, error) { return event, nil },
		}
		if i > 0 {
			p.When = When{After: planned[i-1].Name, Done: true}
		}
		planned = append(planned, p)
	}
	return planned
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
	if err := validateEvents(s.Events); err != nil {
		return fmt.Errorf("trial %s: %w", s.Name, err)
	}
	return nil
}

// validateEvents makes sure that every event's instant will come.
func validateEvents(events []Planned) error {
	byName := map[string]Planned{}
	for _, event := range events {
		if _, twice := byName[event.Name]; twice || event.Name == "" {
			return fmt.Errorf("event %q: it needs a name of its own", event.Name)
		}
		byName[event.Name] = event
	}
	for _, event := range events {
		next := event
		for steps := 0; next.When.After != ""; steps++ {
			other, exists := byName[next.When.After]
			if !exists {
				return fmt.Errorf("event %q waits for %q, which is not planned", next.Name, next.When.After)
			}
			if steps > len(events) {
				return fmt.Errorf("event %q waits for itself", event.Name)
			}
			next = other
		}
	}
	return nil
}
