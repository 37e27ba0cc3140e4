package checks

import (
	"context"
	"fmt"

	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/trial"
)

// Shares that a check can look at.
const (
	shareSlot  = "slot"
	shareLocal = "local"
	shareZone  = "zone"
)

// LocalShare are the parameters of local_share.
type LocalShare struct {
	Share   string   `yaml:"share" doc:"local: served on the node of the ingress; slot: given to a local slot by the draw"`
	PerNode bool     `yaml:"perNode" doc:"test every node besides the whole"`
	AtLeast *float64 `yaml:"atLeast" doc:"lower bound, instead of what the strategy should do with the pods that were there"`
	AtMost  *float64 `yaml:"atMost" doc:"upper bound, likewise"`
}

// Validate says what is wrong with the parameters.
func (p LocalShare) Validate() error {
	if p.Share != shareLocal && p.Share != shareSlot {
		return fmt.Errorf("share %q: want %s or %s", p.Share, shareLocal, shareSlot)
	}
	return validBounds(p.AtLeast, p.AtMost)
}

func localShareKind() Kind {
	return newKind("local_share", "The share that stays on its node is what the strategy should keep, or within bounds.",
		LocalShare{Share: shareLocal, PerNode: true},
		func(_ context.Context, in Input, p LocalShare) ([]measure.Assertion, error) {
			return in.judgeShares(p.Share+"-share", p.Share, p.PerNode, p.AtLeast, p.AtMost)
		})
}

// boundedShare judges a share by bounds, with its interval beside.
func boundedShare(id, subject string, s measure.Share, atLeast, atMost *float64) measure.Assertion {
	a := within(id, subject, "share", s.Ratio(), atLeast, atMost)
	a.N = s.N
	if s.N > 0 {
		interval := s.Wilson(0.95)
		a.Interval = &interval
	}
	return a
}

// partShare is the share of a part of the system, and what it should be.
type partShare struct {
	of       string
	observed measure.Share
	expected float64
}

// shares are the share of the whole and those of its parts: nodes, or zones.
func (in Input) shares(which string) ([]partShare, error) {
	tally, err := in.tally()
	if err != nil {
		return nil, err
	}
	expected, err := in.expect()
	if err != nil {
		return nil, err
	}
	zones := in.Outcome.Zones()
	whole := map[string]partShare{
		shareLocal: {"all nodes", tally.LocalShare(), expected.NodeLocal},
		shareSlot:  {"all nodes", tally.SlotShare(), expected.Slot},
		shareZone:  {"all nodes", tally.ZoneShare(zones), expected.ZoneLocal},
	}
	shares := []partShare{whole[which]}
	for i, node := range in.Outcome.Nodes {
		part := partShare{node, tally.LocalShareAt(node), expected.LocalAt[i]}
		switch which {
		case shareSlot:
			part.observed, part.expected = tally.SlotShareAt(node), expected.SlotAt[i]
		case shareZone:
			part.observed, part.expected = tally.ZoneShareAt(node, zones), expected.ZoneAt[i]
		}
		shares = append(shares, part)
	}
	return shares, nil
}

// expect is what the arm's strategy should have done in the window with the pods that
// were ready in it; of a strategy without a model it is nothing, for bounds only.
func (in Input) expect() (trial.Expectation, error) {
	model := in.Model
	if model == "" {
		model = locality.Endpoints // of which no value is used
	}
	return in.Outcome.ExpectIn(model, in.Window)
}

// judgeShares tests the whole and, if asked for, every node, by the strategy or by bounds.
func (in Input) judgeShares(id, which string, perNode bool, atLeast, atMost *float64) ([]measure.Assertion, error) {
	bounded := atLeast != nil || atMost != nil
	if in.Model == "" && !bounded {
		return cannotTell(id, in.of("all nodes"), "nobody can compute what %s should do: give bounds", in.Strategy), nil
	}
	shares, err := in.shares(which)
	if err != nil {
		return nil, err
	}
	var assertions []measure.Assertion
	for i, s := range shares {
		switch {
		case i > 0 && !perNode:
		case bounded:
			assertions = append(assertions, boundedShare(id, in.of(s.of), s.observed, atLeast, atMost))
		default:
			assertions = append(assertions, in.Family.Share(id, in.of(s.of), s.observed, s.expected))
		}
	}
	return assertions, nil
}

func cannotTell(id, subject, why string, args ...any) []measure.Assertion {
	return []measure.Assertion{measure.CannotTell(id, subject, fmt.Sprintf(why, args...))}
}
