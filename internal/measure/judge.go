package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Share tests a share against the value that it must have in the long run, by
// the exact binomial test at the family's level. With nothing observed it is
// inconclusive, and so is a pass with too few requests to see an error of
// ShareOff.
func (f Family) Share(id, subject string, s Share, expected float64) Assertion {
	interval := s.Wilson(0.95)
	accept := f.Accept(s.N, expected)
	a := Assertion{
		ID: id, Subject: subject, Unit: "share", N: s.N, Tests: 1, Interval: &interval,
		Observed: s.Ratio(), Expected: expected, Low: accept.Low, High: accept.High, Verdict: Pass,
	}
	power := f.PowerOff(s.N, expected, f.ShareOff)
	switch {
	case s.N == 0:
		a.Verdict, a.Interval, a.Detail = Inconclusive, nil, "no request was observed"
		return a
	case !accept.Contains(a.Observed):
		a.Verdict = Fail
	case power < f.MinPower:
		a.Verdict = Inconclusive
	}
	a.Detail = fmt.Sprintf("off by %.1f points is seen with probability %s", 100*f.ShareOff, probability(power))
	if a.Verdict == Inconclusive {
		a.Detail += fmt.Sprintf(", which takes %s requests", Count(f.RequiredN(expected, f.ShareOff, f.MinPower)))
	}
	return a
}

// probability writes the chance of catching an error so that it never looks more
// certain than it is.
func probability(p float64) string {
	if p > 0.9999 {
		return "> 0.9999"
	}
	return fmt.Sprintf("%.4f", math.Floor(p*1e4)/1e4)
}

// Drops asserts that none of n requests failed. No failure is no proof: the
// detail bounds the probability of one (95 %, exact). Classes, when given, count
// the failures by what happened.
func Drops(id, subject string, failed, n int64, classes map[string]int64) Assertion {
	share := Share{Hits: failed, N: n}
	a := Assertion{
		ID: id, Subject: subject, Unit: "requests", N: n,
		Observed: float64(failed), Expected: 0, Low: 0, High: 0, Verdict: Pass,
	}
	switch {
	case n == 0:
		a.Verdict, a.Detail = Inconclusive, "no request was sent"
		return a
	case failed > 0:
		a.Verdict = Fail
	}
	a.Detail = fmt.Sprintf("at most 1 in %s fails (95 %%)", Count(int64(math.Floor(1/share.UpperBound(0.95)))))
	if text := classText(classes); text != "" {
		a.Detail += "; " + text
	}
	return a
}

func classText(classes map[string]int64) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		if classes[class] > 0 && class != "" {
			parts = append(parts, fmt.Sprintf("%s %s", Count(classes[class]), class))
		}
	}
	return strings.Join(parts, ", ")
}

// Agree compares two views of one share, such as HAProxy's counters and what
// answering pods say. They are of the same requests, so three standard errors of
// one view are ample. A disagreement is not the product's failure but the
// measurement's: the assertion is inconclusive then.
func Agree(id, subject string, ours, theirs Share) Assertion {
	a := Assertion{
		ID: id, Subject: subject, Unit: "share", N: min(ours.N, theirs.N),
		Observed: theirs.Ratio(), Expected: ours.Ratio(), Low: math.Inf(-1), High: math.Inf(1), Verdict: Pass,
	}
	if a.N == 0 {
		a.Verdict, a.Detail = Inconclusive, "one of the two views saw no request"
		return a
	}
	// Two hits and two misses more keep the error above 0 for 0 of N and N of N.
	n := float64(a.N)
	p := (float64(ours.Hits) + 2) / (float64(ours.N) + 4)
	error3 := 3 * math.Sqrt(p*(1-p)/n)
	a.Low, a.High = a.Expected-error3, a.Expected+error3
	a.Detail = fmt.Sprintf("%s of %s against %s of %s", Count(theirs.Hits), Count(theirs.N), Count(ours.Hits), Count(ours.N))
	if a.Observed < a.Low || a.Observed > a.High {
		a.Verdict = Inconclusive
		a.Detail = "the two views differ by more than three standard errors: " + a.Detail
	}
	return a
}

// Within asserts that observed is in [low, high]. It is not a statistical test.
// An observed NaN is inconclusive; infinite bounds do not bind.
func Within(id, subject, unit string, observed, expected, low, high float64) Assertion {
	a := Assertion{
		ID: id, Subject: subject, Unit: unit,
		Observed: observed, Expected: expected, Low: low, High: high, Verdict: Pass,
	}
	switch {
	case math.IsNaN(observed):
		a.Verdict, a.Detail = Inconclusive, "nothing was observed"
	case observed < low || observed > high:
		a.Verdict = Fail
	}
	return a
}

// AtMost is Within without a lower bound.
func AtMost(id, subject, unit string, observed, bound float64) Assertion {
	return Within(id, subject, unit, observed, math.NaN(), math.Inf(-1), bound)
}

// AtLeast is Within without an upper bound.
func AtLeast(id, subject, unit string, observed, bound float64) Assertion {
	return Within(id, subject, unit, observed, math.NaN(), bound, math.Inf(1))
}

// Equal asserts an exact value, such as 0 endpoints too many.
func Equal(id, subject, unit string, observed, want float64) Assertion {
	return Within(id, subject, unit, observed, want, want, want)
}

// CannotTell is an assertion whose observation could not be made.
func CannotTell(id, subject, why string) Assertion {
	return Assertion{
		ID: id, Subject: subject, Observed: math.NaN(), Expected: math.NaN(),
		Low: math.Inf(-1), High: math.Inf(1), Verdict: Inconclusive, Detail: why,
	}
}

// Control is a negative control: a fault was made and the given check, which
// guards against it, has to be red. If the fault did not take effect, or had
// none that the check could see, then the check has not been proved and the
// control is not provoked. The check's own verdict is not the product's failure
// and must not be reported beside.
func Control(id, subject string, provoked bool, check Assertion) Assertion {
	a := check
	a.ID, a.Subject = id, subject
	a.Detail = fmt.Sprintf("the check %s has to be red: it is %s", check.ID, check.Verdict)
	if check.Detail != "" {
		a.Detail += "; " + check.Detail
	}
	switch {
	case !provoked:
		a.Verdict = NotProvoked
		a.Detail = "the fault did not take effect; " + a.Detail
	case check.Verdict == Fail:
		a.Verdict = Pass
	default:
		a.Verdict = NotProvoked
	}
	return a
}
