package checks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"secondhop/internal/measure"
)

// PodReceives are the parameters of pod_receives.
type PodReceives struct {
	Pods    PodChoice     `yaml:"pods" doc:"which pods"`
	Since   string        `yaml:"since" doc:"name of an event: only requests scheduled after it, or with .done after it was over; empty means the phase"`
	Delay   time.Duration `yaml:"delay" doc:"so long after that"`
	AtLeast *int64        `yaml:"atLeast" doc:"requests that each pod must serve"`
	AtMost  *int64        `yaml:"atMost" doc:"requests that each pod may serve"`
}

// Validate says what is wrong with the parameters.
func (p PodReceives) Validate() error {
	switch {
	case p.AtLeast == nil && p.AtMost == nil:
		return errors.New("want atLeast, atMost or both")
	case p.AtLeast != nil && p.AtMost != nil && *p.AtLeast > *p.AtMost:
		return fmt.Errorf("at least %d and at most %d: nothing is both", *p.AtLeast, *p.AtMost)
	}
	return p.Pods.Validate()
}

func podReceivesKind() Kind {
	return newKind("pod_receives", "Each of the named pods serves at least or at most so many requests.", PodReceives{Pods: PodChoice{Which: podsPresent}},
		func(_ context.Context, in Input, p PodReceives) ([]measure.Assertion, error) {
			const id = "pod_receives"
			m, err := in.moment(p.Since)
			if err != nil {
				return nil, err
			}
			subject := in.of(p.Pods.String())
			if m.never {
				return m.notProvoked(id, subject), nil
			}
			pods, err := in.pods(p.Pods)
			if err != nil {
				return nil, err
			}
			if len(pods) == 0 {
				return cannotTell(id, subject, "there is no such pod"), nil
			}
			tally, err := in.Outcome.Tally(in.rest(m.at + p.Delay))
			if err != nil {
				return nil, err
			}
			worst := p.worst(id, subject, tally, pods)
			return []measure.Assertion{worst}, nil
		})
}

// worst is the assertion about the pod that breaks a bound, or about the one that is
// nearest to doing so.
func (p PodReceives) worst(id, subject string, tally *measure.Tally, pods []podLife) measure.Assertion {
	chosen := map[string]int64{}
	for _, pod := range pods {
		chosen[pod.Name] = tally.Pods[pod.Name]
	}
	least, most := extreme(chosen, false), extreme(chosen, true)
	var a measure.Assertion
	if p.AtLeast != nil {
		a = measure.AtLeast(id, subject, "requests", float64(chosen[least]), float64(*p.AtLeast))
	}
	if p.AtMost != nil && (p.AtLeast == nil || !a.Failed()) {
		a = measure.AtMost(id, subject, "requests", float64(chosen[most]), float64(*p.AtMost))
	}
	a.N = tally.Requests - tally.Failed
	a.Detail = fmt.Sprintf("%d pods, most %s to %s, fewest %s to %s", len(pods), measure.Count(chosen[most]), most, measure.Count(chosen[least]), least)
	if a.N == 0 {
		a.Verdict, a.Detail = measure.Inconclusive, "no request was answered"
	}
	return a
}
