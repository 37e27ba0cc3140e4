package measure

import (
	"fmt"
	"strings"
	"time"

	"secondhop/loadgen"
	"secondhop/loadgen/wire"
)

// Window is a span of a run, from the start of the run: From included, To not.
// A zero To means until the end.
type Window struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to,omitempty"`
}

// Contains reports whether an instant of the run is in the window.
func (w Window) Contains(at time.Duration) bool { return at >= w.From && (w.To == 0 || at < w.To) }

// NodeTally counts the requests that one ingress node handled.
type NodeTally struct {
	// Answered is requests with a whole, successful answer; Slot and Local are
	// the ones of them that the draw gave to a slot and that a pod of the node served.
	Answered, Slot, Local int64
	// ByPodNode counts answers by the node of the pod that gave them.
	ByPodNode map[string]int64
}

// Tally counts requests as the answers describe them.
type Tally struct {
	Requests, Failed int64
	// Own is the failures of the generator or its machine, not of what it
	// measures; they are in Failed, too.
	Own int64
	// Classes counts failures by class; successes are not in it.
	Classes map[string]int64
	// Failures counts them by what is known of each.
	Failures map[Failure]int64
	// Targets counts all requests by the node that they were sent to.
	Targets map[string]int64
	// Nodes is answered requests by ingress node, Pods by pod.
	Nodes map[string]*NodeTally
	Pods  map[string]int64
	// PodNodes is the node of each pod that answered.
	PodNodes map[string]string
	// Unattributed counts successful answers that do not say who gave them.
	Unattributed int64
	// Misrouted counts answers of another ingress than the request was sent to.
	Misrouted int64

	response, service Latency
}

// NewTally is an empty tally.
func NewTally() *Tally {
	return &Tally{
		Classes: map[string]int64{}, Failures: map[Failure]int64{}, Targets: map[string]int64{}, Nodes: map[string]*NodeTally{},
		Pods: map[string]int64{}, PodNodes: map[string]string{},
	}
}

// TallyOf counts the records that were scheduled in the window.
func TallyOf(records []loadgen.Record, w Window) *Tally {
	t := NewTally()
	for _, r := range records {
		if w.Contains(r.Scheduled) {
			t.Add(r)
		}
	}
	return t
}

// Source gives all records of a run, in any order and each time anew.
type Source interface {
	// Each calls each with every record and stops at its first error.
	Each(each func(loadgen.Record) error) error
}

// Records are a source in memory.
type Records []loadgen.Record

// Each calls each with every record and stops at its first error.
func (r Records) Each(each func(loadgen.Record) error) error {
	for _, record := range r {
		if err := each(record); err != nil {
			return err
		}
	}
	return nil
}

// Tallies counts the records of a source in all windows at once. What it takes to
// memory does not depend on the number of records.
func Tallies(from Source, windows ...Window) ([]*Tally, error) {
	tallies := make([]*Tally, len(windows))
	for i := range tallies {
		tallies[i] = NewTally()
	}
	err := from.Each(func(r loadgen.Record) error {
		for i, w := range windows {
			if w.Contains(r.Scheduled) {
				tallies[i].Add(r)
			}
		}
		return nil
	})
	return tallies, err
}

// Add counts one request. Failed ones are in Requests, Failed and Classes only:
// nobody knows who would have served them.
func (t *Tally) Add(r loadgen.Record) {
	t.Requests++
	t.Targets[r.Node]++
	if r.Failed() {
		t.Failed++
		t.Classes[string(r.Class)]++
		t.Failures[FailureOf(r)]++
		if own(r.Class) {
			t.Own++
		}
		return
	}
	t.response.add(r.Response())
	t.service.add(r.Service())
	if unattributed(r) {
		t.Unattributed++
		return
	}
	if r.Node != "" && r.Node != r.IngressNode {
		t.Misrouted++
	}
	node := t.Nodes[r.IngressNode]
	if node == nil {
		node = &NodeTally{ByPodNode: map[string]int64{}}
		t.Nodes[r.IngressNode] = node
	}
	node.Answered++
	node.ByPodNode[r.PodNode]++
	if FromSlot(r) {
		node.Slot++
	}
	if r.PodNode == r.IngressNode {
		node.Local++
	}
	t.Pods[r.Pod]++
	t.PodNodes[r.Pod] = r.PodNode
}

// unattributed reports whether an answer does not say who gave it.
func unattributed(r loadgen.Record) bool {
	return r.IngressNode == "" || r.PodNode == "" || r.Pod == ""
}

// own reports whether a request failed before it could tell anything about the
// system: no port or descriptor on this machine, or the run was cut short.
func own(class loadgen.Class) bool {
	return class == wire.Ports || class == wire.Internal || class == wire.Interrupted
}

// FromSlot reports whether the draw gave the request to a local slot.
func FromSlot(r loadgen.Record) bool { return strings.HasPrefix(r.Server, "slot") }

// SlotShare and LocalShare are of all answered requests that say who served them.
func (t *Tally) SlotShare() Share {
	var s Share
	for _, n := range t.Nodes {
		s = s.Plus(Share{n.Slot, n.Answered})
	}
	return s
}

// LocalShare is the share that was served on the node of its ingress.
func (t *Tally) LocalShare() Share {
	var s Share
	for _, n := range t.Nodes {
		s = s.Plus(Share{n.Local, n.Answered})
	}
	return s
}

// ZoneShare is the share that was served in the zone of its ingress; zones are those
// of the nodes by name. A node that is in none is in a zone of its own.
func (t *Tally) ZoneShare(zones map[string]string) Share {
	var s Share
	for node := range t.Nodes {
		s = s.Plus(t.ZoneShareAt(node, zones))
	}
	return s
}

// ZoneShareAt is ZoneShare of one ingress node.
func (t *Tally) ZoneShareAt(node string, zones map[string]string) Share {
	n := t.Nodes[node]
	if n == nil {
		return Share{}
	}
	s := Share{N: n.Answered}
	zone, known := zones[node]
	for other, count := range n.ByPodNode {
		if otherZone, exists := zones[other]; other == node || known && exists && zone == otherZone {
			s.Hits += count
		}
	}
	return s
}

// SlotShareAt is SlotShare of one ingress node; 0 of 0 if it answered nothing.
func (t *Tally) SlotShareAt(node string) Share {
	if n := t.Nodes[node]; n != nil {
		return Share{n.Slot, n.Answered}
	}
	return Share{}
}

// LocalShareAt is LocalShare of one ingress node.
func (t *Tally) LocalShareAt(node string) Share {
	if n := t.Nodes[node]; n != nil {
		return Share{n.Local, n.Answered}
	}
	return Share{}
}

// EdgeShares is the observed fraction of the answered requests that entered at
// each of the nodes, in their order: what locality.Placement.Shares takes. It is
// nil if nothing was answered.
func (t *Tally) EdgeShares(nodes []string) []float64 {
	total := 0.0
	shares := make([]float64, len(nodes))
	for i, node := range nodes {
		if n := t.Nodes[node]; n != nil {
			shares[i] = float64(n.Answered)
			total += shares[i]
		}
	}
	if total == 0 {
		return nil
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares
}

// Response is the response times of the successful requests, from the scheduled
// instant; Service is from the instant at which each was really sent.
func (t *Tally) Response() Latency { return t.response }

// Service is the service times of the successful requests.
func (t *Tally) Service() Latency { return t.service }

// Drops asserts that no request of the tally failed. If all that failed did so
// by the generator's own fault, it is inconclusive.
func (t *Tally) Drops(id, subject string) Assertion {
	a := Drops(id, subject, t.Failed, t.Requests, t.Classes)
	if t.Failed > 0 && t.Failed == t.Own {
		a.Verdict = Inconclusive
		a.Detail = "the generator failed, not the system: " + a.Detail
	}
	return a
}

// Attributed asserts that every answer says who served it and came from the
// ingress that it was asked of; else the shares are of something else.
func (t *Tally) Attributed(id, subject string) Assertion {
	a := Equal(id, subject, "requests", float64(t.Unattributed+t.Misrouted), 0)
	a.N = t.Requests - t.Failed
	if a.Verdict == Fail {
		a.Verdict = Inconclusive
		a.Detail = fmt.Sprintf("%s answers do not say who gave them, %s came from another ingress", Count(t.Unattributed), Count(t.Misrouted))
	}
	return a
}
