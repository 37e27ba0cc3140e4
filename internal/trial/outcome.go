package trial

import (
	"time"

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
	Records  []loadgen.Record
	Observed *observe.Result
	Events   []Happening
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
func (o *Outcome) End() time.Duration {
	var last time.Duration
	for _, r := range o.Records {
		last = max(last, r.Scheduled)
	}
	return last + 1
}

// Window is when a phase of the run was: before the first event, during them, or
// after the last one was done. Without events all of it is before.
func (o *Outcome) Window(phase timeline.Phase) measure.Window {
	if len(o.Events) == 0 {
		return o.Whole()
	}
	first, last := o.Events[0].Applied, o.Events[0].Done
	for _, event := range o.Events {
		last = max(last, event.Done)
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

// Tally counts the requests of a window.
func (o *Outcome) Tally(w measure.Window) *measure.Tally { return measure.TallyOf(o.Records, w) }

// Expect is what a strategy should have done, given where the pods were and how
// evenly the edge balancer really spread the requests.
func (o *Outcome) Expect(strategy locality.Strategy) (locality.Expected, error) {
	placement := o.Placement
	placement.Shares = o.Tally(o.Whole()).EdgeShares(o.Nodes)
	return locality.Expect(strategy, placement, locality.Options{})
}
