package checks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"secondhop/internal/measure"
)

// PodBalance are the parameters of pod_balance.
type PodBalance struct {
	MaxOverMean *float64 `yaml:"maxOverMean" doc:"the busiest pod has at most so many times the mean"`
	MaxOverMin  *float64 `yaml:"maxOverMin" doc:"the busiest pod has at most so many times what the idlest has"`
	MinOverMean *float64 `yaml:"minOverMean" doc:"the idlest pod has at least so many times the mean"`
}

// Validate says what is wrong with the parameters.
func (p PodBalance) Validate() error {
	for _, bound := range []*float64{p.MaxOverMean, p.MaxOverMin} {
		if bound != nil && *bound < 1 {
			return fmt.Errorf("bound %v: the busiest pod has at least the mean", *bound)
		}
	}
	if p.MinOverMean != nil && (*p.MinOverMean < 0 || *p.MinOverMean > 1) {
		return errors.New("minOverMean must be between 0 and 1")
	}
	return nil
}

func podBalanceKind() Kind {
	return newKind("pod_balance", "Every pod serves its expected share of the requests, or the spread is within bounds.", PodBalance{},
		func(_ context.Context, in Input, p PodBalance) ([]measure.Assertion, error) {
			tally, err := in.tally()
			if err != nil {
				return nil, err
			}
			counts := maps.Clone(tally.Pods)
			for _, pod := range in.present() {
				counts[pod.Name] += 0
			}
			if p == (PodBalance{}) {
				return in.expectedLoads(counts)
			}
			return p.judge(in, counts), nil
		})
}

// expectedLoads compares every pod with what the strategy should give it.
func (in Input) expectedLoads(counts map[string]int64) ([]measure.Assertion, error) {
	if in.Model == "" {
		return cannotTell("pod_balance", in.of("every pod"), "nobody can compute what %s should do: give bounds", in.Strategy), nil
	}
	expected, err := in.expect()
	if err != nil {
		return nil, err
	}
	return []measure.Assertion{in.Family.Pods("pod_balance", in.of("every pod"), counts, expected.Pods)}, nil
}

// judge compares the spread with the bounds that are set.
func (p PodBalance) judge(in Input, counts map[string]int64) []measure.Assertion {
	b := measure.BalanceOf(counts)
	busiest, idlest := extreme(counts, true), extreme(counts, false)
	detail := fmt.Sprintf("%d pods, busiest %s (%s), idlest %s (%s)", b.Pods,
		busiest, measure.Count(counts[busiest]), idlest, measure.Count(counts[idlest]))
	var assertions []measure.Assertion
	add := func(what string, observed float64, atLeast, atMost *float64) {
		if atLeast == nil && atMost == nil {
			return
		}
		a := within("pod_balance", in.of(what), "ratio", observed, atLeast, atMost)
		a.Detail = detail
		for _, n := range counts {
			a.N += n
		}
		if a.N == 0 {
			a.Verdict, a.Detail = measure.Inconclusive, "no request was answered"
		}
		assertions = append(assertions, a)
	}
	add("busiest pod over the mean", b.Max, nil, p.MaxOverMean)
	add("idlest pod over the mean", b.Min, p.MinOverMean, nil)
	add("busiest pod over the idlest", b.Max/b.Min, nil, p.MaxOverMin)
	return assertions
}

// extreme is the pod with the most or the fewest requests.
func extreme(counts map[string]int64, most bool) string {
	var found string
	for _, pod := range slices.Sorted(maps.Keys(counts)) {
		if found == "" || most && counts[pod] > counts[found] || !most && counts[pod] < counts[found] {
			found = pod
		}
	}
	return found
}
