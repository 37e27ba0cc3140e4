package timeline

import "time"

// Events is a list of events in the order of time.
type Events []Event

// Where is the events for which keep holds.
func (e Events) Where(keep func(Event) bool) Events {
	var out Events
	for _, event := range e {
		if keep(event) {
			out = append(out, event)
		}
	}
	return out
}

// Kind is the events of one kind.
func (e Events) Kind(kind string) Events {
	return e.Where(func(event Event) bool { return event.Kind == kind })
}

// Subject is the events of one subject.
func (e Events) Subject(subject string) Events {
	return e.Where(func(event Event) bool { return event.Subject == subject })
}

// Node is the events of one node.
func (e Events) Node(node string) Events {
	return e.Where(func(event Event) bool { return event.Node == node })
}

// In is the events of one phase.
func (e Events) In(p Phase) Events {
	return e.Where(func(event Event) bool { return event.Phase == p })
}

// Between is the events from an instant on, up to but without another.
func (e Events) Between(from, to time.Duration) Events {
	return e.Where(func(event Event) bool { return event.At >= from && event.At < to })
}

// First is the earliest event, if there is any.
func (e Events) First() (Event, bool) {
	if len(e) == 0 {
		return Event{}, false
	}
	return e[0], true
}

// Last is the latest event, if there is any.
func (e Events) Last() (Event, bool) {
	if len(e) == 0 {
		return Event{}, false
	}
	return e[len(e)-1], true
}

// Span is when a phase began and when the next one did. The last phase that
// began goes on: its end is 0. A phase that never began is not ok.
func (e Events) Span(p Phase) (from, to time.Duration, ok bool) {
	for _, event := range e.Kind(PhaseKind) {
		switch {
		case Phase(event.Subject) == p:
			from, ok = event.At, true
		case ok:
			return from, event.At, true
		}
	}
	return from, 0, ok
}

// Count is how many events there are of each kind.
func (e Events) Count() map[string]int {
	counts := map[string]int{}
	for _, event := range e {
		counts[event.Kind]++
	}
	return counts
}
