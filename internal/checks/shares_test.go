package checks

import (
	"testing"
	"time"

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

func TestZoneShare(t *testing.T) {
	t.Parallel()
	noZones := func(in *Input) { in.Outcome.Placement.Zones = nil }
	judgeAll(t, zoneShareKind(), []judgement{
		{"as the draw says", sample{}, &ZoneShare{PerNode: true}, nil, measure.Pass},
		{"out of the zone", sample{change: everythingElsewhere}, &ZoneShare{PerNode: true}, nil, measure.Fail},
		{"another strategy", sample{}, nil, func(in *Input) { in.Model = "same-zone" }, measure.Fail},
		{"in bounds", sample{}, &ZoneShare{AtLeast: ptr(.5)}, nil, measure.Pass},
		{"out of bounds", sample{}, &ZoneShare{AtMost: ptr(.5)}, nil, measure.Fail},
		{"no zones", sample{}, nil, noZones, measure.Inconclusive},
		{"nothing was sent", sample{}, nil, nothing, measure.Inconclusive},
	})
}

func TestShareVsExpected(t *testing.T) {
	t.Parallel()
	slots := &ShareVsExpected{Share: shareSlot, AtLeast: .95, AtMost: 1.05, PerNode: true}
	judgeAll(t, shareVsExpectedKind(), []judgement{
		{"as expected", sample{}, slots, nil, measure.Pass},
		{"far from it", sample{change: everythingElsewhere}, slots, nil, measure.Fail},
		{"too few to decide", sample{requests: 300}, slots, nil, measure.Inconclusive},
		{"none is expected", sample{}, slots, func(in *Input) { in.Model = "endpoints" }, measure.Inconclusive},
		{"no model", sample{}, slots, func(in *Input) { in.Model = "" }, measure.Inconclusive},
		{"nothing was sent", sample{}, slots, nothing, measure.Inconclusive},
	})
}

func TestPodReceives(t *testing.T) {
	t.Parallel()
	// The first pod of w1 serves nothing from second 12 on.
	gone := sample{events: 1, change: func(_ int, r *loadgen.Record) {
		if r.Pod == podName(0, 0) && r.Scheduled >= 12*time.Second {
			r.Pod = podName(0, 1)
		}
	}}
	first := PodChoice{Which: podsAll, Names: []string{"pod-1-0"}}
	after := func(delay time.Duration, atLeast, atMost *int64) *PodReceives {
		return &PodReceives{Pods: first, Since: "event 1", Delay: delay, AtLeast: atLeast, AtMost: atMost}
	}
	judgeAll(t, podReceivesKind(), []judgement{
		{"all get some", sample{}, &PodReceives{Pods: PodChoice{Which: podsPresent}, AtLeast: ptr(int64(5000))}, nil, measure.Pass},
		{"none may get so many", sample{}, &PodReceives{Pods: PodChoice{Which: podsPresent}, AtMost: ptr(int64(5000))}, nil, measure.Fail},
		{"none after a while", gone, after(2*time.Second, nil, ptr(int64(0))), nil, measure.Pass},
		{"some before that", gone, after(time.Second, nil, ptr(int64(0))), nil, measure.Fail},
		{"must get some and gets none", gone, after(2*time.Second, ptr(int64(1)), nil), nil, measure.Fail},
		{"the event did not happen", gone, after(0, nil, ptr(int64(0))), func(in *Input) { in.Outcome.Events = nil }, measure.NotProvoked},
		{"no such pod", sample{}, &PodReceives{Pods: PodChoice{Which: podsNew}, AtMost: ptr(int64(0))}, nil, measure.Inconclusive},
		{"nothing was sent", sample{}, &PodReceives{Pods: first, AtMost: ptr(int64(0))}, nothing, measure.Inconclusive},
	})
}
