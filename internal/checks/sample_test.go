package checks

import (
	"fmt"
	"math"
	"testing"
	"time"

	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/observe"
	"secondhop/internal/trial"
	"secondhop/loadgen"
)

// sample is a synthetic run: slots on three nodes with 2, 2 and 1 pods, every
// request served as the draw should, 1,000 a second, and what a test changes in it.
type sample struct {
	requests int // 30,000 if 0
	events   int // each from second 10 to 20
	change   func(i int, r *loadgen.Record)
	observed func(o *trial.Outcome)
}

// Times of the sample's events.
const (
	sampleApplied = 10 * time.Second
	sampleDone    = 20 * time.Second
)

func samplePlacement() locality.Placement {
	return locality.Placement{Pods: []int{2, 2, 1}, Zones: []string{"a", "a", "b"}}
}

func (s sample) input(t *testing.T) Input {
	t.Helper()
	start := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	o := &trial.Outcome{
		Spec:      trial.Spec{Name: "sample"},
		Summary:   &loadgen.Summary{Start: loadgen.Start{Wall: start}, Valid: true, Offered: 1000, Achieved: 1000},
		Observed:  &observe.Result{From: start, To: start.Add(time.Minute)},
		Nodes:     []string{"w1", "w2", "w3"},
		Placement: samplePlacement(),
	}
	for i, pods := range o.Placement.Pods {
		for k := range pods {
			name := podName(i, k)
			o.Observed.Pods.Pods = append(o.Observed.Pods.Pods, observe.PodLife{
				Name: name, UID: name, Node: o.Nodes[i], Slot: fmt.Sprint(k), Before: true,
			})
		}
	}
	for i := range s.events {
		name := fmt.Sprintf("event %d", i+1)
		o.Spec.Events = append(o.Spec.Events, trial.Planned{Name: name})
		o.Events = append(o.Events, trial.Happening{Planned: name, Name: name, Applied: sampleApplied, Done: sampleDone})
	}
	s.fill(t, o)
	if s.observed != nil {
		s.observed(o)
	}
	return Input{
		Arm:    Arm{Strategy: "slots", Model: locality.Slots, Outcome: o},
		Window: o.Whole(), Family: measure.DefaultFamily(),
	}
}

// podName is pod-1-0: the first pod of the first node.
func podName(node, k int) string { return fmt.Sprintf("pod-%d-%d", node+1, k) }

// fill makes the requests. The draw is a sequence that fills [0, 1) evenly, so that
// shares are as exact as counts can be.
func (s sample) fill(t *testing.T, o *trial.Outcome) {
	t.Helper()
	var records measure.Records
	n := s.requests
	if n == 0 {
		n = 30_000
	}
	placement, next := o.Placement, 0
	var all [][2]int
	for i, pods := range placement.Pods {
		for k := range pods {
			all = append(all, [2]int{i, k})
		}
	}
	for i := range n {
		node := i % len(o.Nodes)
		r := loadgen.Record{
			ID: uint64(i), Node: o.Nodes[node], IngressNode: o.Nodes[node],
			Scheduled: time.Duration(i) * time.Millisecond, Status: 200,
		}
		r.Sent, r.Done = r.Scheduled, r.Scheduled+2*time.Millisecond
		_, u := math.Modf(float64(i/len(o.Nodes)) * math.Phi)
		if slot := int(u * 4.8); slot < placement.Pods[node] {
			r.Server, r.PodNode, r.Pod = fmt.Sprintf("slot%d", slot), o.Nodes[node], podName(node, slot)
		} else {
			pod := all[next%len(all)]
			next++
			r.Server, r.PodNode, r.Pod = "p1", o.Nodes[pod[0]], podName(pod[0], pod[1])
		}
		if s.change != nil {
			s.change(i, &r)
		}
		records = append(records, r)
	}
	requests, err := trial.NewRequests(records)
	if err != nil {
		t.Fatal(err)
	}
	o.Requests = requests
	o.Summary.Requests = uint64(n)
}

// fail makes a request end with a class and nothing else known.
func fail(r *loadgen.Record, class loadgen.Class, status int) {
	r.Class, r.Status, r.IngressNode, r.PodNode, r.Pod, r.Server = class, status, "", "", "", ""
}

// judged is the verdict of a word: the worst of its assertions.
func judged(t *testing.T, kind Kind, in Input, with any) measure.Verdict {
	t.Helper()
	assertions, err := kind.Judge(t.Context(), in, with)
	if err != nil {
		t.Fatalf("%s: %v", kind.Name, err)
	}
	verdict := measure.Pass
	for _, a := range assertions {
		t.Logf("%s %s", a.Verdict, a)
		if a.Verdict == measure.Fail || verdict == measure.Pass {
			verdict = a.Verdict
		}
	}
	return verdict
}

// judgement is a word, a run, and what must be said of it.
type judgement struct {
	name string
	run  sample
	with any // a pointer to parameters; nil for the defaults
	// in changes the input; nil leaves it.
	in   func(*Input)
	want measure.Verdict
}

func judgeAll(t *testing.T, kind Kind, tests []judgement) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := test.run.input(t)
			if test.in != nil {
				test.in(&in)
			}
			if got := judged(t, kind, in, test.with); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// nothing is a run without a request.
func nothing(in *Input) { in.Window = measure.Window{From: time.Hour, To: 2 * time.Hour} }

func ptr[T any](v T) *T { return &v }
