package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"secondhop/internal/measure"
	"secondhop/loadgen"
)

// ErrorWindow are the parameters of error_window.
type ErrorWindow struct {
	AtMost  time.Duration `yaml:"atMost" doc:"longest span with failures"`
	Gap     time.Duration `yaml:"gap" doc:"failures further apart belong to different spans"`
	Since   string        `yaml:"since" doc:"name of an event: only what was scheduled after it, or with .done after it was over; empty means the phase"`
	Classes []string      `yaml:"classes" doc:"which failures count, as of errors_by_class; none means all"`
}

// Validate says what is wrong with the parameters.
func (p ErrorWindow) Validate() error {
	if p.AtMost < 0 || p.Gap <= 0 {
		return errors.New("atMost must not be negative, gap must be positive")
	}
	return validClasses(p.Classes)
}

func errorWindowKind() Kind {
	return newKind("error_window", "The longest span in which requests fail is short.", ErrorWindow{Gap: time.Second},
		func(_ context.Context, in Input, p ErrorWindow) ([]measure.Assertion, error) {
			const id = "error_window"
			m, err := in.moment(p.Since)
			if err != nil {
				return nil, err
			}
			if m.never {
				return m.notProvoked(id, in.of("longest span with failures")), nil
			}
			spans, n, err := in.errorSpans(m.at, p)
			if err != nil {
				return nil, err
			}
			return []measure.Assertion{p.judge(in, spans, n, m)}, nil
		})
}

func (p ErrorWindow) judge(in Input, spans []measure.Window, n int64, since moment) measure.Assertion {
	var longest measure.Window
	for _, span := range spans {
		if span.To-span.From > longest.To-longest.From {
			longest = span
		}
	}
	a := measure.AtMost("error_window", in.of("longest span with failures"), "seconds", (longest.To - longest.From).Seconds(), p.AtMost.Seconds())
	a.N = n
	switch {
	case n == 0:
		a.Verdict, a.Detail = measure.Inconclusive, "no request was sent"
	case len(spans) > 0:
		a.Detail = fmt.Sprintf("%d spans, the longest from %s to %s after %s", len(spans),
			(longest.From - since.at).Round(time.Millisecond), (longest.To - since.at).Round(time.Millisecond), since.name)
	default:
		a.Detail = "no failure"
	}
	return a
}

// spanStep is the resolution of spans; a single failure makes one of that length.
const spanStep = 10 * time.Millisecond

// errorSpans are the spans with failures, and how many requests were looked at.
// Requests come in any order, so that the instants with failures are kept.
func (in Input) errorSpans(from time.Duration, p ErrorWindow) ([]measure.Window, int64, error) {
	window := in.rest(from)
	failed, n := map[time.Duration]bool{}, int64(0)
	err := in.Outcome.Requests.Each(func(r loadgen.Record) error {
		if !window.Contains(r.Scheduled) {
			return nil
		}
		n++
		if failure := measure.FailureOf(r); r.Failed() && !failure.Own() && matches(failure, p.Classes) {
			failed[r.Scheduled/spanStep] = true
		}
		return nil
	})
	instants := make([]time.Duration, 0, len(failed))
	for step := range failed {
		instants = append(instants, step*spanStep)
	}
	slices.Sort(instants)
	var spans []measure.Window
	for _, at := range instants {
		if last := len(spans) - 1; last >= 0 && at-spans[last].To < p.Gap {
			spans[last].To = at + spanStep
			continue
		}
		spans = append(spans, measure.Window{From: at, To: at + spanStep})
	}
	return spans, n, err
}
