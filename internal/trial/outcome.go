package trial

import (
	"fmt"
	"time"

	"secondhop/clusters/links"
	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/observe"
	"secondhop/internal/timeline"
	"secondhop/loadgen"
)

// Outcome is everything that was observed in one trial.
type Outcome struct {
	Spec     Spec
	Dir      string
	Summary  *loadgen.Summary
	Requests *Requests
	Observed *observe.Result
	// App is what received the load; nil if that is not known.
	App *deploy.App
	// Calibrations are what the links carried before the load and, if that was measured
	// again, after it.
	Calibrations []links.Calibration
	Events       []Happening
	// Nodes are the workers in order; Placement is what was ready on them.
	Nodes     []string
	Placement locality.Placement
}

// Happening is an event that took effect, in time since the start of the load.
type Happening struct {
	Planned       string // name of the planned event
	Name          string // what was done to what
	Applied, Done time.Duration
	Undone        time.Duration // 0 if it stayed in force until the load had ended
	Detail        string
}

// Clock is the zero of the load's times.
func (o *Outcome) Clock() timeline.Clock {
	return timeline.Clock{Wall: o.Summary.Start.Wall, Monotonic: o.Summary.Start.Monotonic}
}

// Whole is the whole run.
func (o *Outcome) Whole() measure.Window { return measure.Window{To: o.End()} }

// End is past the last scheduled instant.
func (o *Outcome) End() time.Duration { return o.Requests.End() }

// Window is when a phase of the run was: before the first event, during them, or
// after the last one was done and, if that was so, undone. Without events all of it
// is before.
func (o *Outcome) Window(phase timeline.Phase) measure.Window {
	if len(o.Events) == 0 {
		return o.Whole()
	}
	first, last := o.Events[0].Applied, o.Events[0].Done
	for _, event := range o.Events {
		last = max(last, event.Done, event.Undone)
	}
	switch phase {
	case timeline.Before:
		return measure.Window{To: first}
	case timeline.During:
		return measure.Window{From: first, To: last}
	default:
		return measure.Window{From: last, To: o.End()}
	}
}

// Tally counts the requests of a window. It is shared and must not be changed.
func (o *Outcome) Tally(w measure.Window) (*measure.Tally, error) {
	tallies, err := o.Requests.Tallies(w)
	if err != nil {
		return nil, fmt.Errorf("count the requests of %s: %w", o.Spec.Name, err)
	}
	return tallies[0], nil
}

// All counts the requests of the whole run. It is shared and must not be changed.
func (o *Outcome) All() *measure.Tally { return o.Requests.whole }

// Zones are the zones of the workers by their names; none if the lab has no zones.
func (o *Outcome) Zones() map[string]string {
	zones := map[string]string{}
	for i, zone := range o.Placement.Zones {
		zones[o.Nodes[i]] = zone
	}
	return zones
}

// Expect is what a strategy should have done, given where the pods were and how
// evenly the edge balancer really spread the requests.
func (o *Outcome) Expect(strategy locality.Strategy) (locality.Expected, error) {
	placement := o.Placement
	placement.Shares = o.All().EdgeShares(o.Nodes)
	return locality.Expect(strategy, placement, locality.Options{})
}
