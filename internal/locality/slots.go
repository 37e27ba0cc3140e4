package locality

import "math"

// slots is the weighted draw. On each node the first pods, up to the number of
// slots, own a band each; the node's draw is from Draw.Range or, if its bands
// are wider together, from their sum. What the draw does not place spills over
// all pods in proportion to their weights, those of the own node included.
//
// With equal weights, at most as many pods per node as slots and an even edge,
// every pod gets exactly the mean load wherever the pods are: the band of a pod
// is the same everywhere and the rest is spread evenly.
func slots(p Placement, edge []float64, d Draw) Expected {
	total := 0.0
	for i, k := range p.Pods {
		for pod := range k {
			total += p.weight(i, pod)
		}
	}
	drawn := make([]float64, len(p.Pods))
	e := evaluate(p, Slots, edge, func(i int) choice {
		c := newChoice(p)
		bands := 0.0
		for pod := range min(p.Pods[i], d.Slots) {
			c[i][pod] = d.Weight * p.weight(i, pod) / 100
			bands += c[i][pod]
		}
		width := math.Max(d.Range, bands)
		for pod := range c[i] {
			c[i][pod] /= width
		}
		drawn[i] = bands / width
		if total > 0 {
			spill(p, c, (1-drawn[i])/total)
		}
		return c
	})
	e.SlotAt = drawn
	for i, share := range drawn {
		e.Slot += edge[i] * share
	}
	return e
}

// spill gives every pod its weight times perWeight on top of what it has.
func spill(p Placement, c choice, perWeight float64) {
	for j := range c {
		for pod := range c[j] {
			c[j][pod] += perWeight * p.weight(j, pod)
		}
	}
}
