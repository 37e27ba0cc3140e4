package trial

import (
	"cmp"
	"slices"
	"time"

	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/observe"
)

// Stretch is a span of a run in which the same pods were ready.
type Stretch struct {
	measure.Window
	// Pods are the ready pods of each node, holders of slots first.
	Pods [][]observe.PodLife
}

// Expectation is what a strategy should have done in a window, as a mean over the time
// in which each set of pods was ready. Shares are fractions of the requests offered.
type Expectation struct {
	NodeLocal, ZoneLocal, Slot, Drop float64
	// LocalAt, ZoneAt and SlotAt are fractions of each node's requests.
	LocalAt, ZoneAt, SlotAt []float64
	// Pods is the fraction of all requests of each pod, by its name.
	Pods map[string]float64
	// Stretches is how many sets of ready pods there were.
	Stretches int
}

// Stretches cuts a window where the set of ready pods changed. It is nil if no pods
// were observed.
func (o *Outcome) Stretches(w measure.Window) []Stretch {
	if o.Observed == nil || len(o.Observed.Pods.Pods) == 0 {
		return nil
	}
	if w.To == 0 || w.To > o.End() {
		w.To = o.End()
	}
	ready := map[string][]readiness{}
	cuts := []time.Duration{w.From, w.To}
	for _, pod := range o.Observed.Pods.Pods {
		ready[pod.UID] = o.readiness(pod)
		for _, change := range ready[pod.UID] {
			if change.at > w.From && change.at < w.To {
				cuts = append(cuts, change.at)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var stretches []Stretch
	for i := 1; i < len(cuts); i++ {
		stretches = append(stretches, o.stretch(measure.Window{From: cuts[i-1], To: cuts[i]}, ready))
	}
	return stretches
}

func (o *Outcome) stretch(w measure.Window, ready map[string][]readiness) Stretch {
	s := Stretch{Window: w, Pods: make([][]observe.PodLife, len(o.Nodes))}
	for _, pod := range o.Observed.Pods.Pods {
		node := slices.Index(o.Nodes, pod.Node)
		if node < 0 || !readyAt(ready[pod.UID], w.From) {
			continue
		}
		s.Pods[node] = append(s.Pods[node], pod)
	}
	for _, pods := range s.Pods {
		slices.SortStableFunc(pods, func(a, b observe.PodLife) int {
			return cmp.Or(cmp.Compare(len(b.Slot), len(a.Slot)), cmp.Compare(a.Slot, b.Slot))
		})
	}
	return s
}

// readiness is a pod that is ready from an instant on, or no longer is.
type readiness struct {
	at    time.Duration
	ready bool
}

func readyAt(changes []readiness, at time.Duration) bool {
	ready := false
	for _, change := range changes {
		if change.at <= at {
			ready = change.ready
		}
	}
	return ready
}

// readiness is the history of a pod. One that is older than the watch and of which no
// history is known was ready: a run begins with a steady application.
func (o *Outcome) readiness(pod observe.PodLife) []readiness {
	clock := o.Clock()
	var changes []readiness
	for _, change := range o.Observed.Pods.Readiness {
		if change.Pod == pod.Name {
			changes = append(changes, readiness{clock.FromWall(change.At), change.Ready})
		}
	}
	if len(changes) == 0 {
		switch {
		case pod.Before:
			changes = append(changes, readiness{0, true})
		case !pod.Ready.IsZero():
			changes = append(changes, readiness{clock.FromWall(pod.Ready), true})
		}
	}
	for _, end := range []time.Time{pod.Deleting, pod.Finished, pod.Gone} {
		if !end.IsZero() {
			changes = append(changes, readiness{clock.FromWall(end), false})
		}
	}
	slices.SortStableFunc(changes, func(a, b readiness) int { return cmp.Compare(a.at, b.at) })
	return changes
}

// ExpectIn is what a strategy should have done in a window, given which pods were ready
// when. Without observed pods it is what the placement asks for.
func (o *Outcome) ExpectIn(strategy locality.Strategy, w measure.Window) (Expectation, error) {
	stretches := o.Stretches(w)
	if stretches == nil {
		expected, err := o.Expect(strategy)
		if err != nil {
			return Expectation{}, err
		}
		e := newExpectation(len(o.Nodes))
		e.add(expected, o.Placement.Zones, 1)
		return e, nil
	}
	e := newExpectation(len(o.Nodes))
	total := stretches[len(stretches)-1].To - stretches[0].From
	for _, s := range stretches {
		placement := locality.Placement{Zones: o.Placement.Zones, Shares: o.All().EdgeShares(o.Nodes)}
		for _, pods := range s.Pods {
			placement.Pods = append(placement.Pods, len(pods))
		}
		expected, err := locality.Expect(strategy, placement, locality.Options{})
		if err != nil {
			return Expectation{}, err
		}
		weight := float64(s.To-s.From) / float64(total)
		e.add(expected, o.Placement.Zones, weight)
		for i, pods := range s.Pods {
			for k, pod := range pods {
				e.Pods[pod.Name] += weight * expected.Load[i][k]
			}
		}
	}
	return e, nil
}

func newExpectation(nodes int) Expectation {
	return Expectation{
		LocalAt: make([]float64, nodes), ZoneAt: make([]float64, nodes), SlotAt: make([]float64, nodes),
		Pods: map[string]float64{},
	}
}

// add counts an expected value in with its weight.
func (e *Expectation) add(expected locality.Expected, zones []string, weight float64) {
	e.Stretches++
	e.NodeLocal += weight * expected.NodeLocal
	e.ZoneLocal += weight * expected.ZoneLocal
	e.Slot += weight * expected.Slot
	e.Drop += weight * expected.Drop
	for i := range e.LocalAt {
		e.LocalAt[i] += weight * expected.LocalAt(i)
		e.SlotAt[i] += weight * expected.SlotAt[i]
		for j, share := range expected.Route[i] {
			if zones == nil || zones[i] == zones[j] {
				e.ZoneAt[i] += weight * share
			}
		}
	}
}
