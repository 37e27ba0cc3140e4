package locality_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"secondhop/internal/locality"
)

// golden is what is expected of a placement, worked out once by hand.
type golden struct {
	strategy                        locality.Strategy
	node, zone, drop, lowest, upper float64
}

func TestGoldenPlacements(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		pods   []int
		zones  string
		slot   float64
		golden []golden
	}{
		{"A", []int{4, 4, 2, 1, 1, 0}, "aabbcc", .4167, []golden{
			{locality.Endpoints, .1667, .3333, 0, 1, 1},
			{locality.ClusterIP, .1667, .3333, 0, 1, 1},
			{locality.InternalLocal, .8333, .8333, .1667, .5, 2},
			{locality.TopologyAuto, .3333, .6667, 0, 1, 1},
			{locality.SameZone, .5, 1, 0, .5, 4},
			{locality.SameNode, .8333, 1, 0, .5, 4},
			{locality.ExternalLocalEven, 1, 1, 0, .6, 2.4},
			{locality.ExternalLocalWeighted, 1, 1, 0, 1, 1},
			{locality.IngressZone, .3472, .6944, 0, .3333, 1.6667},
			{locality.Slots, .4734, .5359, 0, 1, 1},
		}},
		{"B", []int{2, 2, 2, 2, 2, 2}, "aabbcc", .4167, []golden{
			{locality.Endpoints, .1667, .3333, 0, 1, 1},
			{locality.InternalLocal, 1, 1, 0, 1, 1},
			{locality.TopologyAuto, .5, 1, 0, 1, 1},
			{locality.SameZone, .5, 1, 0, 1, 1},
			{locality.SameNode, 1, 1, 0, 1, 1},
			{locality.ExternalLocalEven, 1, 1, 0, 1, 1},
			{locality.ExternalLocalWeighted, 1, 1, 0, 1, 1},
			{locality.IngressZone, .5, 1, 0, 1, 1},
			{locality.Slots, .5139, .6111, 0, 1, 1},
		}},
		{"C", []int{4, 4, 4, 4, 1}, "aabbc", .7083, []golden{
			{locality.Endpoints, .2, .3882, 0, 1, 1},
			{locality.InternalLocal, 1, 1, 0, .85, 3.4},
			{locality.TopologyAuto, .4667, .8667, 0, .9714, 1.1333},
			{locality.SameZone, .6, 1, 0, .85, 3.4},
			{locality.SameNode, 1, 1, 0, .85, 3.4},
			{locality.ExternalLocalEven, 1, 1, 0, .85, 3.4},
			{locality.ExternalLocalWeighted, 1, 1, 0, 1, 1},
			{locality.IngressZone, .4118, .8118, 0, .2, 1.05},
			{locality.Slots, .7490, .7804, 0, 1, 1},
		}},
		{"D", []int{3, 3, 1, 1, 1, 1, 1}, "aabbccc", .3274, []golden{
			{locality.ExternalLocalEven, 1, 1, 0, .5238, 1.5714},
			{locality.Slots, .4080, .5195, 0, 1, 1},
		}},
		{"more pods than slots", []int{6, 4, 1, 1, 0, 0}, "aabbcc", .3472, []golden{
			{locality.InternalLocal, .6667, .6667, .3333, .3333, 2},
			{locality.Slots, .3924, .4375, 0, .6528, 1.0694},
		}},
		{"the lab's uneven placement", []int{4, 4, 4, 1}, "aabb", .6771, []golden{
			{locality.Endpoints, .25, .5, 0, 1, 1},
			{locality.Slots, .7308, .8205, 0, 1, 1},
		}},
		{"the lab's sparse placement", []int{2, 2, 0, 1}, "aabb", .2604, []golden{
			{locality.Endpoints, .25, .5, 0, 1, 1},
			{locality.InternalLocal, .75, .75, .25, .625, 1.25},
			{locality.Slots, .4167, .5833, 0, 1, 1},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := locality.Placement{Pods: tc.pods, Zones: strings.Split(tc.zones, "")}
			for _, want := range tc.golden {
				e := expect(t, want.strategy, p)
				lowest, highest, _ := e.Balance()
				got := golden{want.strategy, e.NodeLocal, e.ZoneLocal, e.Drop, lowest, highest}
				if !close4(got, want) {
					t.Errorf("got %+v\nwant %+v", got, want)
				}
			}
			if slot := expect(t, locality.Slots, p).Slot; math.Abs(slot-tc.slot) > 5e-5 {
				t.Errorf("the draw keeps %.4f, want %.4f", slot, tc.slot)
			}
		})
	}
}

func close4(a, b golden) bool {
	for _, d := range []float64{a.node - b.node, a.zone - b.zone, a.drop - b.drop, a.lowest - b.lowest, a.upper - b.upper} {
		if math.Abs(d) > 5.1e-5 {
			return false
		}
	}
	return true
}

// A node's draw share grows by 100/480 per pod up to four.
func TestDrawShares(t *testing.T) {
	t.Parallel()
	e := expect(t, locality.Slots, locality.Placement{Pods: []int{0, 1, 2, 3, 4, 5}})
	for i, want := range []float64{0, .2083, .4167, .6250, .8333, .8333} {
		if math.Abs(e.SlotAt[i]-want) > 5e-5 {
			t.Errorf("%d pods: the draw keeps %.4f, want %.4f", i, e.SlotAt[i], want)
		}
	}
}

// The central claim: with an even edge and at most four pods a node, every pod
// gets the mean load wherever the pods are.
func TestSlotsLoadIsPlacementIndependent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		pods := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 20).Draw(rt, "pods")
		p := locality.Placement{Pods: pods}
		if p.Total() == 0 {
			return
		}
		lowest, highest, _ := expect(t, locality.Slots, p).Balance()
		near(rt, "least loaded pod", lowest, 1)
		near(rt, "most loaded pod", highest, 1)
	})
}

// With weights, load is proportional to weight as long as no node's bands are
// wider than the range.
func TestSlotsLoadFollowsWeights(t *testing.T) {
	t.Parallel()
	p := locality.Placement{Pods: []int{2, 1, 0}, Weights: [][]float64{{100, 50}, {25}, {}}}
	e := expect(t, locality.Slots, p)
	unit := e.Load[0][0] / 100
	for _, pod := range []struct {
		load, weight float64
	}{{e.Load[0][1], 50}, {e.Load[1][0], 25}} {
		if math.Abs(pod.load/unit-pod.weight) > 1e-9 {
			t.Errorf("a pod of weight %v has load %v of the unit", pod.weight, pod.load/unit)
		}
	}
	// Four bands of 150 are wider than 480: the node keeps everything.
	p = locality.Placement{Pods: []int{4, 1}, Weights: [][]float64{{150, 150, 150, 150}, {100}}}
	if e = expect(t, locality.Slots, p); e.SlotAt[0] != 1 {
		t.Errorf("the draw keeps %v, want all", e.SlotAt[0])
	}
}

// An uneven edge skews the local part of a pod's load and not the spilled part.
func TestSlotsLoadWithUnevenEdge(t *testing.T) {
	t.Parallel()
	p := locality.Placement{Pods: []int{4, 4, 0}, Shares: []float64{.5, .3, .2}}
	e := expect(t, locality.Slots, p)
	spilled := (1 - e.Slot) / 8
	for i, share := range []float64{.5, .3} {
		if want := share*100/480 + spilled; math.Abs(e.Load[i][0]-want) > 1e-12 {
			t.Errorf("node %d: pod load %v, want %v", i, e.Load[i][0], want)
		}
	}
}

func TestNoPods(t *testing.T) {
	t.Parallel()
	for _, s := range locality.Strategies() {
		e := expect(t, s, locality.Placement{Pods: []int{0, 0}, Zones: []string{"a", "b"}})
		lowest, highest, cv := e.Balance()
		if e.Drop != 1 || e.NodeLocal != 0 || e.Slot != 0 || lowest != 0 || highest != 0 || cv != 0 {
			t.Errorf("%s without pods: %+v", s, e)
		}
	}
}

func TestExpectRefuses(t *testing.T) {
	t.Parallel()
	ok := locality.Placement{Pods: []int{1, 2}}
	for _, tc := range []struct {
		name     string
		strategy locality.Strategy
		p        locality.Placement
		o        locality.Options
		want     string
	}{
		{"no node", locality.Slots, locality.Placement{}, locality.Options{}, "no ingress node"},
		{"negative pods", locality.Slots, locality.Placement{Pods: []int{-1}}, locality.Options{}, "node 0 has -1 pods"},
		{"zones", locality.Slots, locality.Placement{Pods: []int{1}, Zones: []string{"a", "b"}}, locality.Options{}, "2 zones for 1 nodes"},
		{"shares", locality.Slots, locality.Placement{Pods: []int{1, 1}, Shares: []float64{.5, .6}}, locality.Options{}, "not to 1"},
		{"number of shares", locality.Slots, locality.Placement{Pods: []int{1, 1}, Shares: []float64{1}}, locality.Options{}, "1 edge shares for 2 nodes"},
		{"negative share", locality.Slots, locality.Placement{Pods: []int{1, 1}, Shares: []float64{2, -1}}, locality.Options{}, "edge share -1"},
		{"weights", locality.Slots, locality.Placement{Pods: []int{1}, Weights: [][]float64{{1, 2}}}, locality.Options{}, "1 pods and 2 weights"},
		{"negative weight", locality.Slots, locality.Placement{Pods: []int{1}, Weights: [][]float64{{-2}}}, locality.Options{}, "weight -2"},
		{"draw", locality.Slots, ok, locality.Options{Draw: locality.Draw{Weight: 100, Slots: 4}}, "not a draw"},
		{"strategy", "slot", ok, locality.Options{}, "there are endpoints, cluster-ip, slots"},
	} {
		if _, err := locality.Expect(tc.strategy, tc.p, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
}
