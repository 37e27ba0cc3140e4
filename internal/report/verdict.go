package report

import (
	"fmt"
	"strings"

	"secondhop/internal/failure"
	"secondhop/internal/measure"
)

// Verdict is what came of a run.
type Verdict struct {
	// Outcome is pass, fail or inconclusive.
	Outcome measure.Verdict `json:"outcome"`
	// ExitCode is 0 pass, 1 product failure, 2 inconclusive or infrastructure, 3 usage.
	ExitCode int `json:"exitCode"`
	// Passed, Failed and Untold count assertions; Untold could not tell or were
	// not provoked.
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	Untold int `json:"untold"`
	// Reason says why, if the outcome is not pass.
	Reason string `json:"reason,omitempty"`
}

// Judge is the verdict on what the result holds. A failed expectation counts
// more than what could not be told; a run without any expectation, an unfinished
// one and one that made more tests than its false-alarm budget covers tell nothing.
func (r Result) Judge() Verdict {
	var v Verdict
	var firstFailed, firstUntold string
	for _, g := range r.Groups {
		for _, a := range g.Assertions {
			switch a.Verdict {
			case measure.Pass:
				v.Passed++
			case measure.Fail:
				v.Failed++
				firstFailed = first(firstFailed, a.ID+" "+a.Subject)
			default:
				v.Untold++
				firstUntold = first(firstUntold, fmt.Sprintf("%s %s is %s", a.ID, a.Subject, a.Verdict))
			}
		}
	}
	v.Outcome, v.ExitCode = measure.Inconclusive, int(failure.Infrastructure)
	product, other := r.problems()
	switch {
	case v.Failed > 0 || product != "":
		v.Outcome, v.ExitCode = measure.Fail, int(failure.Product)
		v.Reason = first(firstFailed, product)
	case other != nil:
		v.ExitCode, v.Reason = int(other.Class), other.Stage+": "+other.Error
	case v.Untold > 0:
		v.Reason = firstUntold
	case v.Passed == 0:
		v.Reason = "nothing was asserted"
	case r.Family.Tests > 0 && r.Tests > r.Family.Tests:
		v.Reason = fmt.Sprintf("%d statistical tests were made, the false-alarm budget covers %d", r.Tests, r.Family.Tests)
	case !r.Finished:
		v.Reason = "the run did not finish"
	default:
		v.Outcome, v.ExitCode = measure.Pass, 0
	}
	return v
}

// problems is the first product failure and the first other problem.
func (r Result) problems() (product string, other *Problem) {
	for i, p := range r.Problems {
		switch {
		case p.Class == failure.Product:
			product = first(product, p.Stage+": "+p.Error)
		case other == nil:
			other = &r.Problems[i]
		}
	}
	return product, other
}

func first(have, next string) string {
	if have != "" {
		return have
	}
	return next
}

// String is the last line of a run.
func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d passed", strings.ToUpper(string(v.Outcome)), v.Passed)
	if v.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", v.Failed)
	}
	if v.Untold > 0 {
		fmt.Fprintf(&b, ", %d could not be told", v.Untold)
	}
	if v.Reason != "" {
		fmt.Fprintf(&b, " (%s)", v.Reason)
	}
	return b.String()
}
