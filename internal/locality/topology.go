package locality

import (
	"math"
	"slices"
)

// overload is how far above its share of the nodes a zone's endpoints may be
// loaded before the EndpointSlice controller gives up on hints (1 + 0.2).
const overload = 1.2

// topologyAuto is the hint allocation of the EndpointSlice controller for nodes
// of equal CPU: every zone must get its share of the endpoints, within overload,
// else there are no hints and all pods are used. Which endpoints move between
// zones is random in Kubernetes and the first ones here, so that NodeLocal is
// one possible value; ZoneLocal only depends on the counts.
func topologyAuto(p Placement, edge []float64) Expected {
	hint := hints(p)
	if hint == nil {
		return evaluate(p, TopologyAuto, edge, func(int) choice { return everywhere(p) })
	}
	e := evaluate(p, TopologyAuto, edge, func(i int) choice {
		c, any := even(p, func(j, pod int) bool { return hint[j][pod] == p.zone(i) })
		if !any {
			return everywhere(p)
		}
		return c
	})
	e.Hints = map[string]int{}
	for _, zones := range hint {
		for _, zone := range zones {
			e.Hints[zone]++
		}
	}
	return e
}

// zoneNeed is how many endpoints a zone has above (or, negative, below) its share.
type zoneNeed struct {
	zone  string
	spare float64
}

// hints is the zone that each pod is assigned to, or nil if hints are not given.
func hints(p Placement) [][]string {
	needs, ok := zoneNeeds(p)
	if !ok {
		return nil
	}
	hint := make([][]string, len(p.Pods))
	for i, k := range p.Pods {
		hint[i] = slices.Repeat([]string{p.zone(i)}, k)
	}
	for {
		giver, receiver := extremes(needs)
		give, lack := needs[giver].spare, -needs[receiver].spare
		// Less than half an endpoint is not worth moving; nor is less than a whole
		// one on both sides.
		if give < 0.5 || lack < 0.5 || (give < 1 && lack < 1) {
			return hint
		}
		move(p, hint, needs[giver].zone, needs[receiver].zone)
		needs[giver].spare--
		needs[receiver].spare++
	}
}

// zoneNeeds compares the pods that each zone has with what its nodes are worth.
func zoneNeeds(p Placement) ([]zoneNeed, bool) {
	zones := slices.Sorted(slices.Values(p.Zones))
	zones = slices.Compact(zones)
	total := p.Total()
	if len(zones) < 2 || len(zones) > total {
		return nil, false
	}
	needs := make([]zoneNeed, 0, len(zones))
	minima := 0
	for _, zone := range zones {
		nodes, pods := 0, 0
		for i, z := range p.Zones {
			if z == zone {
				nodes++
				pods += p.Pods[i]
			}
		}
		share := float64(nodes) / float64(len(p.Pods)) * float64(total)
		minimum := int(math.Ceil(share/overload - 1e-9))
		minima += minimum
		needs = append(needs, zoneNeed{zone, float64(pods) - math.Max(share, float64(minimum))})
	}
	return needs, minima <= total
}

// extremes is the zone with most to spare and the one that lacks most; the first
// in the order of their names among equals.
func extremes(needs []zoneNeed) (giver, receiver int) {
	for i, need := range needs {
		if need.spare > needs[giver].spare {
			giver = i
		}
		if need.spare < needs[receiver].spare {
			receiver = i
		}
	}
	return giver, receiver
}

// move reassigns the first pod of zone from that is still hinted to it. There
// always is one: a zone only gives what it has above its share.
func move(p Placement, hint [][]string, from, to string) {
	for i := range hint {
		for pod := range hint[i] {
			if p.zone(i) == from && hint[i][pod] == from {
				hint[i][pod] = to
				return
			}
		}
	}
}
