package checks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"secondhop/internal/measure"
)

// Times of a request that a percentile can be of.
const (
	timeResponse = "response" // from the scheduled instant
	timeService  = "service"  // from the instant at which it was really taken up
)

// LatencyPercentile are the parameters of latency_percentile.
type LatencyPercentile struct {
	Percentile float64        `yaml:"percentile" doc:"such as 99 or 99.9; 100 is the maximum"`
	Time       string         `yaml:"time" doc:"response: from the scheduled instant; service: from when the request was taken up"`
	AtMost     *time.Duration `yaml:"atMost" doc:"upper bound"`
	AtLeast    *time.Duration `yaml:"atLeast" doc:"lower bound, for what must be seen to be slow"`
}

// Validate says what is wrong with the parameters.
func (p LatencyPercentile) Validate() error {
	switch {
	case p.Percentile <= 0 || p.Percentile > 100:
		return fmt.Errorf("percentile %v: want above 0 and at most 100", p.Percentile)
	case p.Time != timeResponse && p.Time != timeService:
		return fmt.Errorf("time %q: want %s or %s", p.Time, timeResponse, timeService)
	case p.AtMost == nil && p.AtLeast == nil:
		return errors.New("want atMost, atLeast or both")
	}
	return nil
}

func latencyPercentileKind() Kind {
	return newKind("latency_percentile", "A percentile of the times of successful requests is within bounds.",
		LatencyPercentile{Percentile: 99, Time: timeResponse},
		func(_ context.Context, in Input, p LatencyPercentile) ([]measure.Assertion, error) {
			tally, err := in.tally()
			if err != nil {
				return nil, err
			}
			times := tally.Response()
			if p.Time == timeService {
				times = tally.Service()
			}
			a := within("latency_percentile", in.of(fmt.Sprintf("%s time, p%v", p.Time, p.Percentile)), "seconds",
				times.Quantile(p.Percentile/100).Seconds(), seconds(p.AtLeast), seconds(p.AtMost))
			a.N = times.N()
			a.Detail = fmt.Sprintf("median %s, maximum %s", times.Quantile(.5), times.Quantile(1))
			if tally.Failed > 0 {
				a.Detail += fmt.Sprintf("; %s requests that failed have no time", measure.Count(tally.Failed))
			}
			if need := enoughFor(p.Percentile); a.N < need {
				a.Verdict, a.Detail = measure.Inconclusive, fmt.Sprintf("fewer than %s requests", measure.Count(need))
			}
			return []measure.Assertion{a}, nil
		})
}

// enoughFor is how many requests a percentile takes: ten beyond it; of a maximum one.
func enoughFor(percentile float64) int64 {
	if percentile >= 100 {
		return 1
	}
	const beyond = 10
	return int64(math.Ceil(beyond/(1-percentile/100) - 1e-6))
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Seconds()
	return &s
}
