// Package checks is the vocabulary of what must come out of a run. A check takes
// what was observed and gives assertions. What could not be observed is never a
// pass: the assertion then says that it cannot tell.
package checks

import (
	"context"
	"fmt"
	"slices"

	"secondhop/fixtures"
	"secondhop/internal/failure"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/timeline"
	"secondhop/internal/trial"
)

// Kind is a word of the vocabulary of checks and how it is judged.
type Kind struct {
	fixtures.Term
	// Judge makes assertions of what was observed, with a pointer to the term's
	// parameters, or nil for the defaults. Its error is about the input or about
	// files that could not be read, never about the system under test.
	Judge func(ctx context.Context, in Input, with any) ([]measure.Assertion, error)
}

// Arm is a strategy with a variant, and what came of its run.
type Arm struct {
	Strategy, Variant string
	// Model is what the strategy should do; "" if nobody can compute that.
	Model   locality.Strategy
	Outcome *trial.Outcome
}

// String is "slots, grace 0s".
func (a Arm) String() string {
	if a.Variant == "" {
		return a.Strategy
	}
	return a.Strategy + ", " + a.Variant
}

// Input is what a check judges.
type Input struct {
	Arm
	// Phase is what Window was called; "" is the whole run.
	Phase  timeline.Phase
	Window measure.Window
	Family measure.Family
	// Others are the other arms that were played, for comparisons.
	Others []Arm
}

// Kinds are all words, in the order of their names.
func Kinds() []Kind {
	return []Kind{
		errorWindowKind(),
		errorsByClassKind(),
		expectErrorsKind(),
		latencyPercentileKind(),
		localShareKind(),
		noTrafficToKind(),
		podBalanceKind(),
		podReceivesKind(),
		shareVsExpectedKind(),
		slotUniqueKind(),
		zoneShareKind(),
	}
}

// Find is the word of that name.
func Find(name string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Terms are the words as the loader of scenarios wants them.
func Terms() []fixtures.Term {
	var terms []fixtures.Term
	for _, kind := range Kinds() {
		terms = append(terms, kind.Term)
	}
	return terms
}

// newKind makes a word whose parameters are a P; defaults are those of a scenario
// that sets none.
func newKind[P any](name, summary string, defaults P, judge func(context.Context, Input, P) ([]measure.Assertion, error)) Kind {
	return Kind{
		Term: fixtures.Term{Name: name, Summary: summary, Parameters: defaults},
		Judge: func(ctx context.Context, in Input, with any) ([]measure.Assertion, error) {
			parameters := defaults
			switch with := with.(type) {
			case nil:
			case *P:
				parameters = *with
			default:
				return nil, fmt.Errorf("check %s: parameters of type %T, want %T", name, with, &parameters)
			}
			if checked, ok := any(parameters).(interface{ Validate() error }); ok {
				if err := checked.Validate(); err != nil {
					return nil, failure.Inputf("check %s: %v", name, err)
				}
			}
			assertions, err := judge(ctx, in, parameters)
			if err != nil {
				return nil, fmt.Errorf("check %s: %w", name, err)
			}
			if len(assertions) == 0 {
				assertions = []measure.Assertion{measure.CannotTell(name, in.subject(), "there was nothing to judge")}
			}
			return assertions, nil
		},
	}
}

// Inverted is a check that is meant to be red: the fault that it guards against was
// made on purpose. It is one assertion, of the first red one if there is any.
func Inverted(in Input, check string, assertions []measure.Assertion) measure.Assertion {
	if len(assertions) == 0 {
		return measure.CannotTell(check, in.subject(), "there was nothing to judge")
	}
	shown := assertions[0]
	if red := slices.IndexFunc(assertions, measure.Assertion.Failed); red >= 0 {
		shown = assertions[red]
	}
	return measure.Control(check, in.subject()+", meant to be red", in.provoked(), shown)
}
