package compare

import (
	"testing"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
)

// Every strategy has expected values on every placement, and those are possible.
func TestExpectedValuesOfEveryCell(t *testing.T) {
	t.Parallel()
	for _, placement := range Placements() {
		if len(placement.Pods) != len(placement.Zones) {
			t.Errorf("placement %s: %d nodes, %d zones", placement.Name, len(placement.Pods), len(placement.Zones))
		}
		for _, strategy := range deploy.Strategies() {
			e, err := locality.Expect(strategy.Model, locality.Placement{Pods: placement.Pods, Zones: placement.Zones}, locality.Options{})
			if err != nil {
				t.Errorf("%s on %s: %v", strategy.Name, placement.Name, err)
				continue
			}
			if e.NodeLocal < 0 || e.NodeLocal > e.ZoneLocal+1e-9 || e.ZoneLocal+e.Drop > 1+1e-9 {
				t.Errorf("%s on %s: local %v, zone %v, drop %v", strategy.Name, placement.Name, e.NodeLocal, e.ZoneLocal, e.Drop)
			}
		}
	}
}

// The budget of tests covers what a comparison can make.
func TestFamilyCoversTheTests(t *testing.T) {
	t.Parallel()
	most := 0
	for _, placement := range Placements() {
		pods := 0
		for _, k := range placement.Pods {
			pods += k
		}
		most = max(most, pods)
	}
	if most+3 > testsPerCell {
		t.Errorf("a cell makes up to %d tests (drops, local, zone, and %d pods), its budget is %d", most+3, most, testsPerCell)
	}
	family := Family(Options{Strategies: deploy.Strategies(), Placements: Placements()})
	if err := family.Validate(); err != nil {
		t.Error(err)
	}
}
