// Package timeline keeps everything that is observed during a run in the order
// of one clock: pods, endpoints, slots, reloads, faults, samples. It only grows.
package timeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Phase is a part of a run.
type Phase string

// The phases of a run, in their order. An event before the first phase has none.
const (
	Settle Phase = "settle"
	Before Phase = "before"
	During Phase = "during"
	After  Phase = "after"
)

// PhaseKind is the kind of the event with which a phase begins; its subject is
// the phase.
const PhaseKind = "phase"

// Event is something that was seen or done.
type Event struct {
	// At is how long after the start of the run it happened. Sources that only
	// know a wall time are placed by the start's wall time.
	At time.Duration `json:"at"`
	// Phase is the phase that At lies in, filled in when events are queried.
	Phase Phase `json:"phase,omitempty"`
	// Kind says what it is, such as pod-ready; Node and Subject of what.
	Kind    string `json:"kind"`
	Node    string `json:"node,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Detail is for people, Data for programs.
	Detail string          `json:"detail,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// Timeline is the events of one run. It may be used by many goroutines.
type Timeline struct {
	clock Clock

	mu     sync.Mutex
	events []Event // in the order of arrival
	out    io.Writer
	err    error // of the first failed write
}

// New is an empty timeline on the clock. Every event is also written to out as
// a line of JSON as it arrives, so that a run that dies leaves them; out may be
// nil.
func New(clock Clock, out io.Writer) *Timeline { return &Timeline{clock: clock, out: out} }

// Clock is the clock of the timeline.
func (t *Timeline) Clock() Clock { return t.clock }

// Add appends an event. Events may arrive late and in any order.
func (t *Timeline) Add(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Phase = ""
	t.events = append(t.events, e)
	if t.out == nil || t.err != nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = t.out.Write(append(line, '\n'))
	}
	if err != nil {
		t.err = fmt.Errorf("write event %q of %q: %w", e.Kind, e.Subject, err)
	}
}

// AddAt appends an event that happened at a wall time.
func (t *Timeline) AddAt(wall time.Time, e Event) {
	e.At = t.clock.FromWall(wall)
	t.Add(e)
}

// Begin starts a phase at an instant of the run. Phases begin in their order;
// one that begins twice or before an earlier one is an error.
func (t *Timeline) Begin(p Phase, at time.Duration) error {
	order := phases()
	position := slices.Index(order, p)
	if position < 0 {
		return fmt.Errorf("begin phase %q: there are only %v", p, order)
	}
	for _, b := range t.Events().Kind(PhaseKind) {
		if earlier := slices.Index(order, Phase(b.Subject)); earlier >= position || b.At > at {
			return fmt.Errorf("begin phase %q at %s: %q began at %s", p, at, b.Subject, b.At)
		}
	}
	t.Add(Event{At: at, Kind: PhaseKind, Subject: string(p)})
	return nil
}

func phases() []Phase { return []Phase{Settle, Before, During, After} }

// Err is the first error of writing events out; the events themselves are kept.
func (t *Timeline) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Events is a copy of all events so far, by time, with their phases filled in.
func (t *Timeline) Events() Events {
	t.mu.Lock()
	events := slices.Clone(t.events)
	t.mu.Unlock()
	return order(events)
}

// order sorts by time, keeping the order of arrival among equals, and fills in
// the phases.
func order(events []Event) Events {
	slices.SortStableFunc(events, func(a, b Event) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	var phase Phase
	for i := range events {
		if events[i].Kind == PhaseKind {
			phase = Phase(events[i].Subject)
		}
		events[i].Phase = phase
	}
	return events
}

// Write writes the events as lines of JSON.
func (e Events) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	for _, event := range e {
		if err := encoder.Encode(event); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	return nil
}

// Read reads lines of JSON as New's writer and Write make them. A last line that
// was cut off is an error; the events before it are returned with it.
func Read(from io.Reader) (Events, error) {
	decoder := json.NewDecoder(from)
	var events []Event
	for {
		var e Event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return order(events), nil
		}
		if err != nil {
			return order(events), fmt.Errorf("read event %d: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
}
