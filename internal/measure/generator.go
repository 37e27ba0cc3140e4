package measure

import (
	"fmt"
	"math"
	"strings"

	"secondhop/internal/locality"
	"secondhop/loadgen"
)

// rateOff is how far the achieved rate may be from the offered one: 0.1 %, ten
// times what the generator itself promises on an idle machine.
const rateOff = 0.001

// Generator asserts that a run says something about the system and not about
// the load generator: it kept its schedule and its rate. It is inconclusive if
// not, since nobody knows what the system would have done.
func Generator(id, subject string, s *loadgen.Summary) Assertion {
	if s == nil {
		return CannotTell(id, subject, "the load generator left no summary")
	}
	a := Near(id, subject, "requests/s", s.Achieved, s.Offered, rateOff)
	a.N = int64(s.Requests)
	a.Detail = fmt.Sprintf("lateness p99 %s", Quantity(s.Lateness.P99.Seconds(), "seconds"))
	switch {
	case !s.Valid:
		a.Verdict, a.Detail = Inconclusive, "the generator says of itself: "+strings.Join(s.Reasons, "; ")
	case s.Requests == 0:
		a.Verdict, a.Detail = Inconclusive, "no request was due"
	case a.Verdict == Fail:
		a.Verdict = Inconclusive
	}
	return a
}

// Growth asserts by how much the free capacity of a link grew, from its use
// before and after as shares of what it carries. The bounds are those of a cut
// that is the predicted one within the tolerance (both fractions).
func Growth(id, subject string, before, after, predictedCut, tolerance float64) Assertion {
	grown := math.NaN()
	if before < 1 && before > 0 {
		grown = 100 * ((1-after)/(1-before) - 1)
	}
	bound := func(cut float64) float64 { return 100 * locality.FreeGrowth(before, cut) }
	a := Within(id, subject, "points", grown, bound(predictedCut), bound(predictedCut-tolerance), bound(predictedCut+tolerance))
	if a.Verdict == Inconclusive {
		a.Detail = fmt.Sprintf("a link used to %.1f %% has no free capacity to compare", 100*before)
		return a
	}
	a.Detail = fmt.Sprintf("the link was used to %.1f %%, then to %.1f %%", 100*before, 100*after)
	return a
}
