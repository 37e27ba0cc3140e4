// Package faults holds the events of a run: what is done to the system while it
// is measured. Each can be applied, confirmed and undone; one that had no effect
// makes a run worthless and says so.
package faults

import (
	"context"
	"fmt"
	"time"

	"secondhop/internal/failure"
)

// Event is one event. A value is good for one use, in the order Apply, Confirm,
// Undo; it keeps in between what it needs to know.
type Event interface {
	// Name says what is done to what, for people.
	Name() string
	// Apply begins the event and returns as soon as it is under way.
	Apply(context.Context) error
	// Confirm waits until the event is over and had its effect. The error is a
	// NotProvokedError when it had none.
	Confirm(context.Context) (Outcome, error)
	// Undo puts back what the event changed for good. It may be called at any
	// time after Apply began, also when that failed.
	Undo(context.Context) error
}

// Outcome is when an event took place.
type Outcome struct {
	Applied time.Time // just before it began
	Done    time.Time // when its effect was seen to be complete
	Detail  string
}

// NotProvokedError is an event that did not bite: whatever was measured while it
// should have been under way says nothing.
type NotProvokedError struct {
	Event string
	Why   string
	Err   error // may be nil
}

// Error says which event and why.
func (e *NotProvokedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s had no effect: %s: %v", e.Event, e.Why, e.Err)
	}
	return fmt.Sprintf("%s had no effect: %s", e.Event, e.Why)
}

// Unwrap gives the cause, if there is one.
func (e *NotProvokedError) Unwrap() error { return e.Err }

// notProvoked makes the error of an event without effect, as a failure of the lab
// and not of the product.
func notProvoked(event Event, why string, err error) error {
	return failure.Infra(&NotProvokedError{event.Name(), why, err}, "")
}
