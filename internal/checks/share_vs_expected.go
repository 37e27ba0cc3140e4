package checks

import (
	"context"
	"fmt"

	"secondhop/internal/measure"
)

// ShareVsExpected are the parameters of share_vs_expected.
type ShareVsExpected struct {
	Share   string  `yaml:"share" doc:"slot, local or zone"`
	AtLeast float64 `yaml:"atLeast" doc:"least ratio of the measured share to the expected one"`
	AtMost  float64 `yaml:"atMost" doc:"greatest ratio"`
	PerNode bool    `yaml:"perNode" doc:"judge every node that should have a share besides the whole"`
}

// Validate says what is wrong with the parameters.
func (p ShareVsExpected) Validate() error {
	if p.Share != shareSlot && p.Share != shareLocal && p.Share != shareZone {
		return fmt.Errorf("share %q: want %s, %s or %s", p.Share, shareSlot, shareLocal, shareZone)
	}
	return validBounds(&p.AtLeast, &p.AtMost)
}

func shareVsExpectedKind() Kind {
	return newKind("share_vs_expected", "The measured share is about what it should be with the pods that were ready.",
		ShareVsExpected{Share: shareSlot, AtLeast: 0.95, AtMost: 1.05},
		func(_ context.Context, in Input, p ShareVsExpected) ([]measure.Assertion, error) {
			const id = "share_vs_expected"
			if in.Model == "" {
				return cannotTell(id, in.of(p.Share+" share"), "nobody can compute what %s should do", in.Strategy), nil
			}
			shares, err := in.shares(p.Share)
			if err != nil {
				return nil, err
			}
			var assertions []measure.Assertion
			for i, s := range shares {
				subject := in.of(p.Share + " share, " + s.of)
				switch {
				case i > 0 && (!p.PerNode || s.expected == 0):
				case s.expected == 0:
					assertions = append(assertions, measure.CannotTell(id, subject, "a share of 0 is expected"))
				default:
					assertions = append(assertions, p.judge(id, subject, s))
				}
			}
			return assertions, nil
		})
}

// judge decides by the whole interval of the share: one that reaches over a bound, so
// that chance decides, says nothing.
func (p ShareVsExpected) judge(id, subject string, s partShare) measure.Assertion {
	a := measure.Within(id, subject, "ratio", s.observed.Ratio()/s.expected, 1, p.AtLeast, p.AtMost)
	a.N = s.observed.N
	if a.N == 0 {
		return a
	}
	interval := s.observed.Wilson(0.95)
	a.Detail = fmt.Sprintf("share %.4f (95 %%: %s), expected %.4f", s.observed.Ratio(), interval, s.expected)
	low, high := interval.Low/s.expected, interval.High/s.expected
	inside, outside := low >= p.AtLeast && high <= p.AtMost, high < p.AtLeast || low > p.AtMost
	if !inside && !outside {
		a.Verdict = measure.Inconclusive
		a.Detail += "; too few requests to decide"
	}
	return a
}
