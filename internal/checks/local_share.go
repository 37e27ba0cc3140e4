package checks

import (
	"context"
	"fmt"

	"secondhop/internal/measure"
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
			id := p.Share + "-share"
			if in.Model == "" && p.AtLeast == nil && p.AtMost == nil {
				return cannotTell(id, in.of("all nodes"), "nobody can compute what %s should do: give bounds", in.Strategy), nil
			}
			shares, err := in.shares(p.Share)
			if err != nil {
				return nil, err
			}
			var assertions []measure.Assertion
			for i, s := range shares {
				switch {
				case i > 0 && !p.PerNode:
				case p.AtLeast == nil && p.AtMost == nil:
					assertions = append(assertions, in.Family.Share(id, in.of(s.of), s.observed, s.expected))
				default:
					assertions = append(assertions, boundedShare(id, in.of(s.of), s.observed, p.AtLeast, p.AtMost))
				}
			}
			return assertions, nil
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
	expected, err := in.Outcome.Expect(in.Model)
	if err != nil {
		return nil, err
	}
	whole := partShare{"all nodes", tally.LocalShare(), expected.NodeLocal}
	if which == shareSlot {
		whole = partShare{"all nodes", tally.SlotShare(), expected.Slot}
	}
	shares := []partShare{whole}
	for i, node := range in.Outcome.Nodes {
		part := partShare{node, tally.LocalShareAt(node), expected.LocalAt(i)}
		if which == shareSlot {
			part = partShare{node, tally.SlotShareAt(node), expected.SlotAt[i]}
		}
		shares = append(shares, part)
	}
	return shares, nil
}

func cannotTell(id, subject, why string, args ...any) []measure.Assertion {
	return []measure.Assertion{measure.CannotTell(id, subject, fmt.Sprintf(why, args...))}
}
