// Package observe watches and counts everything that happens during a run:
// pods, slots, HAProxy's counters, bytes on links and what they belong to, and
// how the machine itself was doing.
package observe

import "time"

// EventKind says what happened.
type EventKind string

// The kinds of events that observers report.
const (
	EventSlotViolation EventKind = "slot-violation"
	EventPodCreated    EventKind = "pod-created"
	EventPodScheduled  EventKind = "pod-scheduled"
	EventPodLabelled   EventKind = "pod-labelled"
	EventPodReady      EventKind = "pod-ready"
	EventPodDeleting   EventKind = "pod-deleting"
	EventPodFinished   EventKind = "pod-finished"
	EventPodGone       EventKind = "pod-gone"
	EventServerState   EventKind = "server-state"
)

// Event is something that happened at an instant.
type Event struct {
	At      time.Time
	Kind    EventKind
	Node    string
	Subject string // what it happened to
	Detail  string
}

// Sink takes events as they happen; calls may come from several goroutines. A nil
// Sink drops them.
type Sink func(Event)

func (s Sink) send(event Event) {
	if s != nil {
		s(event)
	}
}
