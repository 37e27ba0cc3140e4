// Package locality computes what a strategy of spreading requests should do to
// any placement of pods: which share stays on the node or in the zone of the
// ingress, which is dropped, how evenly the pods are loaded, and how many bytes
// cross each node's link. It is arithmetic only; measurements are judged by it.
package locality

import (
	"errors"
	"fmt"
	"math"
)

// Placement is where the ready pods of one app are, seen from the nodes that
// receive traffic. All slices that are not nil have one entry per node.
type Placement struct {
	// Pods is the number of ready pods on each ingress node.
	Pods []int
	// Zones names the zone of each node; nil means one zone.
	Zones []string
	// Shares is the fraction of all requests that the edge sends to each node;
	// it sums to 1. Nil means even.
	Shares []float64
	// Weights is the percentage that each pod's agent answers, per node and pod;
	// nil means 100 each. Only the slots strategy looks at it.
	Weights [][]float64
}

// shareTolerance is how far Shares may be from 1 in sum: rounding, not error.
const shareTolerance = 1e-6

// Validate says what is wrong with the placement, or nil.
func (p Placement) Validate() error {
	n := len(p.Pods)
	if n == 0 {
		return errors.New("placement: no ingress node")
	}
	for i, k := range p.Pods {
		if k < 0 {
			return fmt.Errorf("placement: node %d has %d pods", i, k)
		}
	}
	if p.Zones != nil && len(p.Zones) != n {
		return fmt.Errorf("placement: %d zones for %d nodes", len(p.Zones), n)
	}
	if err := p.validateShares(); err != nil {
		return err
	}
	return p.validateWeights()
}

func (p Placement) validateShares() error {
	if p.Shares == nil {
		return nil
	}
	if len(p.Shares) != len(p.Pods) {
		return fmt.Errorf("placement: %d edge shares for %d nodes", len(p.Shares), len(p.Pods))
	}
	sum := 0.0
	for i, f := range p.Shares {
		if f < 0 || math.IsNaN(f) {
			return fmt.Errorf("placement: edge share %v of node %d", f, i)
		}
		sum += f
	}
	if math.Abs(sum-1) > shareTolerance {
		return fmt.Errorf("placement: edge shares sum to %v, not to 1", sum)
	}
	return nil
}

func (p Placement) validateWeights() error {
	if p.Weights == nil {
		return nil
	}
	if len(p.Weights) != len(p.Pods) {
		return fmt.Errorf("placement: weights of %d nodes for %d nodes", len(p.Weights), len(p.Pods))
	}
	for i, weights := range p.Weights {
		if len(weights) != p.Pods[i] {
			return fmt.Errorf("placement: node %d has %d pods and %d weights", i, p.Pods[i], len(weights))
		}
		for _, w := range weights {
			if w < 0 || math.IsNaN(w) || math.IsInf(w, 0) {
				return fmt.Errorf("placement: weight %v on node %d", w, i)
			}
		}
	}
	return nil
}

// Total is the number of ready pods.
func (p Placement) Total() int {
	total := 0
	for _, k := range p.Pods {
		total += k
	}
	return total
}

// Share is the fraction of all requests that enters at node i.
func (p Placement) Share(i int) float64 {
	if p.Shares == nil {
		return 1 / float64(len(p.Pods))
	}
	return p.Shares[i]
}

// zone is the zone of node i; without zones all nodes are in one.
func (p Placement) zone(i int) string {
	if p.Zones == nil {
		return ""
	}
	return p.Zones[i]
}

// weight is the percentage that the agent of pod j on node i answers.
func (p Placement) weight(i, j int) float64 {
	if p.Weights == nil {
		return 100
	}
	return p.Weights[i][j]
}
