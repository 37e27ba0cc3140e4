package compare

import (
	"testing"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
)

// With as many requests as a cell gets, none of its tests is inconclusive.
func TestEnoughRequestsForEveryTest(t *testing.T) {
	t.Parallel()
	family := Family(Options{Strategies: deploy.Strategies(), Placements: Placements()})
	for _, placement := range Placements() {
		for _, strategy := range deploy.Strategies() {
			e, err := locality.Expect(strategy.Model, locality.Placement{Pods: placement.Pods, Zones: placement.Zones}, locality.Options{})
			if err != nil {
				t.Fatal(err)
			}
			requests := enough(family, e)
			answered, served := int64(float64(requests)*(1-e.Drop)), 1-e.Drop
			least := leastLoad(e) / served
			for what, power := range map[string]float64{
				"local share": family.PowerOff(answered, min(1, e.NodeLocal/served), family.ShareOff),
				"zone share":  family.PowerOff(answered, min(1, e.ZoneLocal/served), family.ShareOff),
				"least pod":   family.PowerOff(answered, least, family.PodOff*least),
			} {
				if power < family.MinPower {
					t.Errorf("%s on %s: %d requests see a wrong %s with probability %.3f", strategy.Name, placement.Name, requests, what, power)
				}
			}
			if requests > 30_000 {
				t.Errorf("%s on %s: %d requests take too long", strategy.Name, placement.Name, requests)
			}
		}
	}
}

// A pod with a small part of the load needs more requests than one with the mean.
func TestEnoughRequestsFollowTheLeastPod(t *testing.T) {
	t.Parallel()
	family := Family(Options{Strategies: deploy.Strategies(), Placements: Placements()})
	even := locality.Expected{NodeLocal: 1, ZoneLocal: 1, Load: [][]float64{{0.5}, {0.5}}}
	poor := locality.Expected{NodeLocal: 1, ZoneLocal: 1, Load: [][]float64{{0.99}, {0.01}}}
	if a, b := enough(family, even), enough(family, poor); a >= b {
		t.Errorf("%d requests for even pods, %d with one that gets 1 %%", a, b)
	}
}
