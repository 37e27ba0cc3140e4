package checks

import (
	"context"

	"secondhop/internal/measure"
)

// ZoneShare are the parameters of zone_share.
type ZoneShare struct {
	PerNode bool     `yaml:"perNode" doc:"test every node besides the whole"`
	AtLeast *float64 `yaml:"atLeast" doc:"lower bound, instead of what the strategy should do with the pods that were there"`
	AtMost  *float64 `yaml:"atMost" doc:"upper bound, likewise"`
}

// Validate says what is wrong with the parameters.
func (p ZoneShare) Validate() error { return validBounds(p.AtLeast, p.AtMost) }

func zoneShareKind() Kind {
	return newKind("zone_share", "The share that stays in its zone is what the strategy should keep, or within bounds.", ZoneShare{},
		func(_ context.Context, in Input, p ZoneShare) ([]measure.Assertion, error) {
			if len(in.Outcome.Placement.Zones) == 0 {
				return cannotTell("zone-share", in.of("all nodes"), "the lab has no zones"), nil
			}
			return in.judgeShares("zone-share", shareZone, p.PerNode, p.AtLeast, p.AtMost)
		})
}
