package compare

import (
	"math"

	"secondhop/internal/locality"
	"secondhop/internal/measure"
)

// spare is for the teeth of measure.Family.RequiredN, which is nearly the least
// number and not quite, and for counts of drops that are off by chance.
const spare = 1.03

// enough is the number of requests with which every statistical test of a cell has
// the power that the family asks for. It is decided before the run, from what is
// expected, so that it cannot depend on what comes out. A pod with a small part of
// the load needs the most.
func enough(family measure.Family, expected locality.Expected) uint64 {
	served := 1 - expected.Drop
	answered := max(family.RequiredN(min(1, expected.NodeLocal/served), family.ShareOff, family.MinPower),
		family.RequiredN(min(1, expected.ZoneLocal/served), family.ShareOff, family.MinPower))
	if least := leastLoad(expected) / served; least > 0 && least < 1 {
		answered = max(answered, family.RequiredN(least, family.PodOff*least, family.MinPower))
	}
	all := float64(answered) / served
	if expected.Drop > negligible {
		all = max(all, float64(family.RequiredN(expected.Drop, family.ShareOff, family.MinPower)))
	}
	return uint64(math.Ceil(spare * all))
}

// leastLoad is the smallest fraction of all requests that any pod should serve, of
// those that should serve at all; 0 if there is none.
func leastLoad(expected locality.Expected) float64 {
	least := 0.0
	for _, loads := range expected.Load {
		for _, load := range loads {
			if load > negligible && (least == 0 || load < least) {
				least = load
			}
		}
	}
	return least
}
