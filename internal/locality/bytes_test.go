package locality_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"secondhop/internal/locality"
	"secondhop/internal/units"
)

// unevenPlacement is the lab's: three full nodes and one with a single pod.
func unevenPlacement() locality.Placement { return locality.Placement{Pods: []int{4, 4, 4, 1}} }

func expect(t testing.TB, strategy locality.Strategy, p locality.Placement) locality.Expected {
	e, err := locality.Expect(strategy, p, locality.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The body bytes per node are the ones computed by hand from the formula of one
// node: f(1-L)r in, and f r plus what is answered for others out.
func TestBytesOfBodies(t *testing.T) {
	t.Parallel()
	bodies := locality.SameOnBothHops(0, 24576)
	for _, tc := range []struct {
		strategy locality.Strategy
		in, out  []float64
	}{
		{locality.Endpoints, []float64{4253.5, 4253.5, 4253.5, 5671.4}, []float64{11815.4, 11815.4, 11815.4, 7561.8}},
		{locality.Slots, []float64{708.9, 708.9, 708.9, 4489.8}, []float64{8270.8, 8270.8, 8270.8, 6380.3}},
	} {
		nodes := locality.Bytes(expect(t, tc.strategy, unevenPlacement()), bodies, locality.Wire{})
		for i, n := range nodes {
			if math.Abs(n.In()-tc.in[i]) > 0.1 || math.Abs(n.Out()-tc.out[i]) > 0.1 {
				t.Errorf("%s node %d: in %.1f out %.1f, want %.1f and %.1f", tc.strategy, i, n.In(), n.Out(), tc.in[i], tc.out[i])
			}
		}
	}
}

// On a real cluster with 24 KiB answers, links of 100 Mbit/s, and requests and
// answers with heads of about 100 and 214 bytes, the queues counted these bytes
// per request. The model has to explain them to 2 % of the larger figures.
func TestBytesOnTheWireAgreeWithMeasurement(t *testing.T) {
	t.Parallel()
	traffic := locality.SameOnBothHops(100, 24576+214)
	for _, tc := range []struct {
		strategy locality.Strategy
		in       []float64
	}{
		{locality.Endpoints, []float64{4605, 4610, 4611, 6063}},
		{locality.Slots, []float64{788, 808, 797, 4775}},
	} {
		nodes := locality.Bytes(expect(t, tc.strategy, unevenPlacement()), traffic, locality.EthernetWire())
		for i, n := range nodes {
			if off := math.Abs(n.In() - tc.in[i]); off > 0.02*tc.in[i] && off > 40 {
				t.Errorf("%s node %d: %.0f bytes in, measured %.0f", tc.strategy, i, n.In(), tc.in[i])
			}
		}
	}
}

func TestWire(t *testing.T) {
	t.Parallel()
	w := locality.EthernetWire()
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"nothing", w.Carry(0), 0},
		{"one byte", w.Carry(1), 67},
		{"a full segment", w.Carry(1448), 1514},
		{"a byte more", w.Carry(1449), 1449 + 132},
		{"without overhead", locality.Wire{}.Carry(5000), 5000},
		// 18 segments in one packet at the IP layer: 24790 bytes and one header.
		{"an offloaded packet", w.FromCounter(24790+52, 1), 24790 + 66*24790/1448.},
		{"pure acknowledgements", w.FromCounter(520, 10), 660},
		{"small packets", w.FromCounter(3*(100+52), 3), 3 * 166},
		{"no packet", w.FromCounter(0, 0), 0},
	} {
		if math.Abs(tc.got-tc.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tc.name, tc.got, tc.want)
		}
	}
	if split := w.Split(); split.Acked != 2896 || split.Header != w.Header {
		t.Errorf("split wire %+v", split)
	}
}

// The published case: three quarters used, 23 % cut, 73 % more free; and the
// prediction for five nodes (4,4,4,4,1) with hop two at 32.5 % of inbound.
func TestCutAndFreeGrowth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name                 string
		got, want, tolerance float64
	}{
		{"published growth", locality.FreeGrowth(.7604, .23), .73, .001},
		{"half used", locality.FreeGrowth(.5, .2), .2, 1e-12},
		{"full", locality.FreeGrowth(1, .2), math.Inf(1), 0},
		{"five nodes", locality.Cut(.325, .2, .7490), .223, .0005},
		{"five nodes growth", locality.FreeGrowth(.76, .2230), .707, .002},
		{"nothing to gain", locality.Cut(.3, 1, 1), 0, 0},
		{"rate", locality.RateFor(100*units.Megabit, .76, 9500), 1000, 1e-9},
	} {
		if tc.got != tc.want && !(math.Abs(tc.got-tc.want) <= tc.tolerance) {
			t.Errorf("%s: %v, want %v", tc.name, tc.got, tc.want)
		}
	}
}

func TestBackgroundFor(t *testing.T) {
	t.Parallel()
	nodes := locality.Bytes(expect(t, locality.Endpoints, unevenPlacement()), locality.SameOnBothHops(100, 24790), locality.EthernetWire())
	for i, n := range nodes {
		n.BackgroundIn = n.BackgroundFor(.31)
		if math.Abs(n.HopTwoShare()-.31) > 1e-12 {
			t.Errorf("node %d: hop two is %v of inbound, want .31", i, n.HopTwoShare())
		}
	}
	if b := nodes[0].BackgroundFor(.999); b != 0 {
		t.Errorf("background for a share that is never reached = %v, want 0", b)
	}
}

func placements() *rapid.Generator[locality.Placement] {
	return rapid.Custom(func(t *rapid.T) locality.Placement {
		n := rapid.IntRange(1, 8).Draw(t, "nodes")
		p := locality.Placement{Zones: make([]string, n), Shares: make([]float64, n)}
		sum := 0.0
		for i := range n {
			p.Pods = append(p.Pods, rapid.IntRange(0, 6).Draw(t, "pods"))
			p.Zones[i] = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone")
			p.Shares[i] = rapid.Float64Range(.01, 1).Draw(t, "share")
			sum += p.Shares[i]
		}
		for i := range p.Shares {
			p.Shares[i] /= sum
		}
		return p
	})
}

// With uneven edges the oracle has nothing to say, so laws take its place: all
// that one node sends on hop two another receives, shares add up, predicting
// from an observation equals computing anew, and the cut is the one that the
// formula of means gives.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := placements().Draw(rt, "placement")
		traffic := locality.SameOnBothHops(rapid.Float64Range(1, 1e5).Draw(rt, "q"), rapid.Float64Range(1, 1e5).Draw(rt, "r"))
		before := expect(t, locality.Endpoints, p)
		for _, s := range locality.Strategies() {
			e := expect(t, s, p)
			served := 0.0
			for _, loads := range e.Load {
				for _, load := range loads {
					served += load
				}
			}
			near(rt, string(s)+": served and dropped", served+e.Drop, 1)
			if e.NodeLocal > e.ZoneLocal+1e-9 || e.ZoneLocal > 1-e.Drop+1e-9 {
				rt.Fatalf("%s: node %v, zone %v, drop %v", s, e.NodeLocal, e.ZoneLocal, e.Drop)
			}
			nodes := locality.Bytes(e, traffic, locality.EthernetWire())
			sum := locality.Sum(nodes)
			near(rt, string(s)+": hop two sent and received", sum.HopTwoIn(), sum.HopTwoRequestsOut+sum.HopTwoAnswersOut)
		}
		slots := expect(t, locality.Slots, p)
		old, now := locality.Bytes(before, traffic, locality.EthernetWire()), locality.Bytes(slots, traffic, locality.EthernetWire())
		for i := range old {
			near(rt, "scaled", locality.Scale(old[i], i, before, slots).In(), now[i].In())
		}
		if p.Total() > 0 {
			total := locality.Sum(old)
			near(rt, "cut", locality.Cut(total.HopTwoShare(), before.NodeLocal, slots.NodeLocal), 1-locality.Sum(now).In()/total.In())
		}
	})
}

func near(t *rapid.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}
