package checks

import (
	"fmt"
	"strings"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/measure"
)

// doneSuffix makes the end of an event out of its name.
const doneSuffix = ".done"

// moment is an instant of the run that a check counts from.
type moment struct {
	at    time.Duration
	name  string
	never bool // the event did not happen
}

// moment finds the instant that a parameter names: an event is when it was applied,
// for the last time if it is repeated; "<event>.done" is when it was over; nothing is
// the start of the window.
func (in Input) moment(since string) (moment, error) {
	if since == "" {
		return moment{at: in.Window.From, name: "the start of the " + in.subject()}, nil
	}
	name, done := strings.CutSuffix(since, doneSuffix)
	planned := false
	for _, event := range in.Outcome.Spec.Events {
		planned = planned || event.Name == name
	}
	m := moment{name: since, never: true}
	for _, event := range in.Outcome.Events {
		if event.Planned != name {
			continue
		}
		planned, m.never, m.at = true, false, event.Applied
		if done {
			m.at = event.Done
		}
	}
	if !planned {
		return moment{}, failure.Inputf("since %q: no event has that name", since)
	}
	return m, nil
}

// notProvoked says that nothing could be seen, as the event of the moment did not
// happen.
func (m moment) notProvoked(id, subject string) []measure.Assertion {
	a := measure.CannotTell(id, subject, fmt.Sprintf("the event %s did not happen", m.name))
	a.Verdict = measure.NotProvoked
	return []measure.Assertion{a}
}

// rest is what is left of the window from an instant on.
func (in Input) rest(from time.Duration) measure.Window {
	to := in.Window.To
	if to == 0 {
		to = in.Outcome.End()
	}
	return measure.Window{From: max(from, in.Window.From), To: to}
}
