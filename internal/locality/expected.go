package locality

import "math"

// Expected is what a strategy does with a placement in the long run. All shares
// are fractions of the requests offered, unless a field says otherwise.
type Expected struct {
	Strategy Strategy
	// NodeLocal and ZoneLocal are served on the node or in the zone of the
	// ingress, on purpose or by chance. Drop is served by nobody.
	NodeLocal, ZoneLocal, Drop float64
	// Slot is the share that the draw gives to a local slot, and SlotAt the same
	// for each node as a fraction of that node's requests; zero without a draw.
	Slot   float64
	SlotAt []float64
	// Edge is the fraction of all requests that enters at each node. It differs
	// from the placement's only where the strategy itself decides it.
	Edge []float64
	// Route[i][j] is the fraction of node i's requests that pods of node j serve.
	Route [][]float64
	// Load[i][j] is the fraction of all requests that pod j of node i serves.
	Load [][]float64
	// Hints counts the pods that topology-auto assigns to each zone; nil when it
	// does not apply or gives up.
	Hints map[string]int
}

// LocalAt is the fraction of node i's requests that its own pods serve.
func (e Expected) LocalAt(i int) float64 { return e.Route[i][i] }

// Balance is the least and the greatest load of a pod, and the coefficient of
// variation, all relative to the mean load if nothing were dropped.
func (e Expected) Balance() (lowest, highest, cv float64) {
	pods := 0
	for _, loads := range e.Load {
		pods += len(loads)
	}
	if pods == 0 {
		return 0, 0, 0
	}
	mean := 1 / float64(pods)
	lowest = math.Inf(1)
	squares := 0.0
	for _, loads := range e.Load {
		for _, load := range loads {
			lowest, highest = math.Min(lowest, load), math.Max(highest, load)
			squares += (load - mean) * (load - mean)
		}
	}
	return lowest / mean, highest / mean, math.Sqrt(squares/float64(pods)) / mean
}

// choice is how a strategy answers for one ingress node: the probability of
// each pod, indexed by node and pod. Probabilities that are missing from 1 are
// dropped requests.
type choice [][]float64

func newChoice(p Placement) choice {
	c := make(choice, len(p.Pods))
	for j, k := range p.Pods {
		c[j] = make([]float64, k)
	}
	return c
}

// even spreads over the pods for which member is true, and reports whether
// there is any.
func even(p Placement, member func(node, pod int) bool) (choice, bool) {
	count := 0
	for j, k := range p.Pods {
		for pod := range k {
			if member(j, pod) {
				count++
			}
		}
	}
	c := newChoice(p)
	if count == 0 {
		return c, false
	}
	for j, k := range p.Pods {
		for pod := range k {
			if member(j, pod) {
				c[j][pod] = 1 / float64(count)
			}
		}
	}
	return c, true
}

// evaluate adds up what route does for every ingress node.
func evaluate(p Placement, strategy Strategy, edge []float64, route func(i int) choice) Expected {
	n := len(p.Pods)
	e := Expected{
		Strategy: strategy, Edge: edge,
		SlotAt: make([]float64, n), Route: make([][]float64, n), Load: newChoice(p),
	}
	for i := range n {
		e.Route[i] = make([]float64, n)
		served := 0.0
		for j, loads := range route(i) {
			for pod, probability := range loads {
				e.Route[i][j] += probability
				e.Load[j][pod] += edge[i] * probability
			}
			served += e.Route[i][j]
			if p.zone(i) == p.zone(j) {
				e.ZoneLocal += edge[i] * e.Route[i][j]
			}
		}
		e.NodeLocal += edge[i] * e.Route[i][i]
		e.Drop += edge[i] * (1 - served)
	}
	return e
}
