package checks

import (
	"testing"

	"secondhop/internal/measure"
	"secondhop/loadgen"
	"secondhop/loadgen/wire"
)

func TestErrorsByClass(t *testing.T) {
	t.Parallel()
	broken := sample{change: func(i int, r *loadgen.Record) {
		if i == 7 { // enters at w2
			fail(r, wire.Status, 503)
		}
	}}
	noPorts := sample{change: func(i int, r *loadgen.Record) {
		if i == 7 {
			fail(r, wire.Ports, 0)
		}
	}}
	judgeAll(t, errorsByClassKind(), []judgement{
		{"none", sample{}, nil, nil, measure.Pass},
		{"one", broken, nil, nil, measure.Fail},
		{"one of the status", broken, &ErrorsByClass{Classes: []string{"503"}}, nil, measure.Fail},
		{"one of the kind", broken, &ErrorsByClass{Classes: []string{"5xx"}}, nil, measure.Fail},
		{"one of another class", broken, &ErrorsByClass{Classes: []string{"connect", "504"}}, nil, measure.Pass},
		{"one elsewhere", broken, &ErrorsByClass{Nodes: []int{1, 3}}, nil, measure.Pass},
		{"one at the node", broken, &ErrorsByClass{Nodes: []int{2}}, nil, measure.Fail},
		{"one that is allowed", broken, &ErrorsByClass{AtMost: 1}, nil, measure.Pass},
		{"the generator's own", noPorts, nil, nil, measure.Inconclusive},
		{"nothing was sent", sample{}, nil, nothing, measure.Inconclusive},
		{"nothing was sent, some allowed", sample{}, &ErrorsByClass{AtMost: 1}, nothing, measure.Inconclusive},
	})
}

// everythingElsewhere sends what the draw kept to another node.
func everythingElsewhere(_ int, r *loadgen.Record) {
	if r.PodNode == r.IngressNode {
		r.Server, r.PodNode, r.Pod = "p1", "w2", podName(1, 0)
	}
}

func TestLocalShare(t *testing.T) {
	t.Parallel()
	judgeAll(t, localShareKind(), []judgement{
		{"as the draw says", sample{}, nil, nil, measure.Pass},
		{"slots, as the draw says", sample{}, &LocalShare{Share: shareSlot, PerNode: true}, nil, measure.Pass},
		{"not local", sample{change: everythingElsewhere}, nil, nil, measure.Fail},
		{"slots, not local", sample{change: everythingElsewhere}, &LocalShare{Share: shareSlot}, nil, measure.Fail},
		{"another strategy", sample{}, nil, func(in *Input) { in.Model = "endpoints" }, measure.Fail},
		{"in bounds", sample{}, &LocalShare{Share: shareSlot, AtLeast: ptr(.3), AtMost: ptr(.4)}, nil, measure.Pass},
		{"out of bounds", sample{}, &LocalShare{Share: shareSlot, AtLeast: ptr(.4)}, nil, measure.Fail},
		{"too few requests", sample{requests: 300}, nil, nil, measure.Inconclusive},
		{"no model", sample{}, nil, func(in *Input) { in.Model = "" }, measure.Inconclusive},
		{"nothing was sent", sample{}, nil, nothing, measure.Inconclusive},
		{"nothing was sent, bounds", sample{}, &LocalShare{Share: shareSlot, AtMost: ptr(1.)}, nothing, measure.Inconclusive},
	})
}

func TestPodBalance(t *testing.T) {
	t.Parallel()
	favourite := sample{change: func(_ int, r *loadgen.Record) {
		if r.Pod == podName(0, 1) {
			r.Pod = podName(0, 0)
		}
	}}
	tight := &PodBalance{MaxOverMean: ptr(1.05), MinOverMean: ptr(.95), MaxOverMin: ptr(1.1)}
	judgeAll(t, podBalanceKind(), []judgement{
		{"every pod the mean", sample{}, nil, nil, measure.Pass},
		{"in bounds", sample{}, tight, nil, measure.Pass},
		{"a favourite", favourite, nil, nil, measure.Fail},
		{"a favourite, out of bounds", favourite, tight, nil, measure.Fail},
		{"no model", sample{}, nil, func(in *Input) { in.Model = "" }, measure.Inconclusive},
		{"nothing was sent", sample{}, nil, nothing, measure.Inconclusive},
		{"nothing was sent, bounds", sample{}, tight, nothing, measure.Inconclusive},
	})
}
