package measure

import (
	"fmt"
	"math"
)

// Traffic is inbound and outbound bytes of one node in a window in which the
// whole cluster handled the given number of requests.
type Traffic struct {
	In       float64 `json:"in"`
	Out      float64 `json:"out"`
	Requests int64   `json:"requests"`
}

// InPerRequest is inbound bytes per request of the whole load; NaN without requests.
func (t Traffic) InPerRequest() float64 { return perRequest(t.In, t.Requests) }

// OutPerRequest is outbound bytes per request of the whole load.
func (t Traffic) OutPerRequest() float64 { return perRequest(t.Out, t.Requests) }

func perRequest(bytes float64, requests int64) float64 {
	if requests == 0 {
		return math.NaN()
	}
	return bytes / float64(requests)
}

// CutOf is the part by which before was reduced: 0.64 for a cut of 64 %. It is
// negative for growth and NaN if there was nothing before.
func CutOf(before, after float64) float64 {
	if before <= 0 {
		return math.NaN()
	}
	return 1 - after/before
}

// Cut asserts that the bytes fell from before to after by the predicted part,
// within a tolerance; all of predicted and tolerance are fractions, and the
// assertion shows them in percent points.
func Cut(id, subject string, before, after, predicted, tolerance float64) Assertion {
	a := Within(id, subject, "points", 100*CutOf(before, after), 100*predicted, 100*(predicted-tolerance), 100*(predicted+tolerance))
	if a.Verdict != Inconclusive {
		a.Detail = fmt.Sprintf("from %s to %s", Quantity(before, "bytes"), Quantity(after, "bytes"))
	}
	return a
}

// Near asserts that observed is within a relative tolerance of expected.
func Near(id, subject, unit string, observed, expected, tolerance float64) Assertion {
	margin := math.Abs(expected) * tolerance
	return Within(id, subject, unit, observed, expected, expected-margin, expected+margin)
}

// Parts asserts that parts add up to the whole within a relative tolerance. What
// does not add up was counted wrongly, so that a mismatch is inconclusive.
func Parts(id, subject string, whole float64, tolerance float64, parts ...float64) Assertion {
	sum := 0.0
	for _, part := range parts {
		sum += part
	}
	a := Near(id, subject, "bytes", sum, whole, tolerance)
	if whole <= 0 {
		a.Verdict, a.Detail = Inconclusive, "nothing was counted"
		return a
	}
	a.Detail = fmt.Sprintf("the parts are %.2f %% of the whole", 100*sum/whole)
	if a.Verdict == Fail {
		a.Verdict = Inconclusive
	}
	return a
}
