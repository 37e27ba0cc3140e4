package measure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The levels and powers that the documentation promises for the lab's
// placements: 12,000 requests show a node's share that is off by three points,
// 40,000 on all nodes a pod that is off by 15 %.
func TestPowerOfTheSuite(t *testing.T) {
	t.Parallel()
	f := DefaultFamily()
	if level := f.Level(); level != 2e-6 {
		t.Errorf("level of one test = %v, want 2e-6", level)
	}
	for _, tc := range []struct {
		name    string
		n       int64
		p, off  float64
		atLeast float64
	}{
		{"whole local share", 20_000, .7308, .03, .99999},
		{"whole slot share", 20_000, .6771, .03, .9999},
		{"slot share of a full node", 10_000, 5. / 6, .03, .998},
		{"local share of a full node", 10_000, 23. / 26, .03, .9999},
		{"local share of the poor node", 10_000, .2692, .03, .97},
		// The sparse placement (2,2,0,1) is nearer to a half and so needs more.
		{"local share of a node with 2 of 5 pods", 12_000, .65, .03, .98},
		{"the same without slots", 12_000, .4, .03, .97},
		{"the worst share there is", 12_000, .5, .03, .96},
		{"one pod of 13", 40_000, 1. / 13, .15 / 13, .9998},
		{"one pod of 5", 40_000, 1. / 5, .15 / 5, .99999},
	} {
		power := f.PowerOff(tc.n, tc.p, tc.off)
		if power < tc.atLeast {
			t.Errorf("%s: power %v of %d requests, want %v", tc.name, power, tc.n, tc.atLeast)
		}
		t.Logf("%-30s n %6d: power %.6f; 0.99 takes %d", tc.name, tc.n, power, f.RequiredN(tc.p, tc.off, .99))
	}
}

// Ten tosses of a coin are rejected at 5 % outside 2..8; a coin of 0.1 falls
// there with P(X<=1) = 0.7361, and so with that power is caught.
func TestPowerByHand(t *testing.T) {
	t.Parallel()
	f := Family{Alpha: .05, Tests: 1}
	if a := f.Accept(10, .5); a != (Interval{.2, .8}) {
		t.Errorf("accepted %v, want 0.2..0.8", a)
	}
	for actual, want := range map[float64]float64{.1: .736099, .5: .021484, .9: .736099} {
		if got := f.Power(10, .5, actual); math.Abs(got-want) > 1e-6 {
			t.Errorf("power against %v = %.6f, want %.6f", actual, got, want)
		}
	}
}

func TestRequiredN(t *testing.T) {
	t.Parallel()
	f := DefaultFamily()
	for _, tc := range []struct{ p, off, power float64 }{{.7308, .03, .99}, {1. / 13, .15 / 13, .999}, {.01, .03, .5}, {.5, .4, .99}} {
		n := f.RequiredN(tc.p, tc.off, tc.power)
		if got := f.PowerOff(n, tc.p, tc.off); got < tc.power {
			t.Errorf("%+v: %d requests have power %v", tc, n, got)
		}
		if less := n * 90 / 100; less > 40 && f.PowerOff(less, tc.p, tc.off) >= tc.power {
			t.Errorf("%+v: %d requests would do, not only %d", tc, less, n)
		}
	}
	if n := f.RequiredN(.5, 0, .99); n != 1<<40 {
		t.Errorf("an error of nothing takes %d requests", n)
	}
}

func TestFamilyValidate(t *testing.T) {
	t.Parallel()
	if err := DefaultFamily().Validate(); err != nil {
		t.Error(err)
	}
	for _, f := range []Family{{}, {Alpha: 1, Tests: 1}, {Alpha: .1}, {Alpha: .1, Tests: 1, MinPower: 1}, {Alpha: math.NaN(), Tests: 1}} {
		if f.Validate() == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}

// lab simulates the lab: every node draws one random number per request, and
// what spills goes round the pods in turn, as HAProxy does it.
type lab struct {
	pods   []int
	weight float64 // of a slot, of 480
	skewed int     // this pod, if not negative, hands 15 % of its requests to the next
	random *rand.Rand
}

type labCounts struct {
	slot, local []Share
	pods        []int64
}

func (l lab) run(requestsPerNode int) labCounts {
	nodes := len(l.pods)
	c := labCounts{slot: make([]Share, nodes), local: make([]Share, nodes)}
	var home []int // node of each pod
	first := make([]int, nodes)
	for i, k := range l.pods {
		first[i] = len(home)
		for range k {
			home = append(home, i)
		}
	}
	c.pods = make([]int64, len(home))
	for i := range nodes {
		turn := l.random.IntN(len(home))
		for range requestsPerNode {
			band := int(l.random.Float64() * 480 / l.weight)
			pod := first[i] + band
			if band >= min(l.pods[i], 4) {
				pod = turn
				turn = (turn + 1) % len(home)
			} else {
				c.slot[i].Hits++
			}
			if pod == l.skewed && l.random.Float64() < .15 {
				pod = (pod + 1) % len(home)
			}
			c.slot[i].N++
			c.local[i].N++
			if home[pod] == i {
				c.local[i].Hits++
			}
			c.pods[pod]++
		}
	}
	return c
}

// reds counts the tests of one simulated run on placement (4,4,4,1) that fail.
func (c labCounts) reds(f Family) int {
	reds := 0
	count := func(s Share, p float64) {
		if !f.Accept(s.N, p).Contains(s.Ratio()) {
			reds++
		}
	}
	var slot, local Share
	total := int64(0)
	for i, expected := range []struct{ slot, local float64 }{{5. / 6, 23. / 26}, {5. / 6, 23. / 26}, {5. / 6, 23. / 26}, {5. / 24, 7. / 26}} {
		count(c.slot[i], expected.slot)
		count(c.local[i], expected.local)
		slot, local = slot.Plus(c.slot[i]), local.Plus(c.local[i])
		total += c.slot[i].N
	}
	count(slot, 65./96)
	count(local, 19./26)
	for _, n := range c.pods {
		count(Share{n, total}, 1./13)
	}
	return reds
}

// testsPerRun is how many tests reds makes: 4+1 slot shares, 4+1 local ones, 13 pods.
const testsPerRun = 23

// A correct system turns a run red less often than Alpha. To see that in
// seconds the level is 5 % here instead of 0.1 %; the arithmetic is the same, and
// TestAcceptanceIsExact covers the far tails.
func TestFalseAlarmRate(t *testing.T) {
	t.Parallel()
	f := DefaultFamily()
	f.Alpha, f.Tests = .05, testsPerRun
	l := lab{pods: []int{4, 4, 4, 1}, weight: 100, skewed: -1, random: rand.New(rand.NewPCG(1, 2))}
	const runs = 600
	red := 0
	for range runs {
		if l.run(1000).reds(f) > 0 {
			red++
		}
	}
	// Three standard errors above 5 % of the runs.
	if bound := int(runs*.05 + 3*math.Sqrt(runs*.05*.95)); red > bound {
		t.Errorf("%d of %d correct runs are red, want at most %d", red, runs, bound)
	}
	t.Logf("%d of %d correct runs are red at a level of 5 %%", red, runs)
}

// A single test of really independent requests uses most of its level: it is
// conservative because counts are whole numbers, not because it is blunt.
func TestSingleTestUsesItsLevel(t *testing.T) {
	t.Parallel()
	f := Family{Alpha: .05, Tests: 1}
	random := rand.New(rand.NewPCG(3, 4))
	const runs, n, p = 3000, 1000, .7308
	accept := f.Accept(n, p)
	red := 0
	for range runs {
		hits := int64(0)
		for range n {
			if random.Float64() < p {
				hits++
			}
		}
		if !accept.Contains((Share{hits, n}).Ratio()) {
			red++
		}
	}
	if rate := float64(red) / runs; rate > .05+3*math.Sqrt(.05*.95/runs) || rate < .035 {
		t.Errorf("%.3f of correct tests are red, want just under 0.05", rate)
	}
}

// With the suite's own level and 40,000 requests, a draw that is off by three
// points and a pod that is off by 15 % are caught in every simulated run.
func TestErrorsAreCaught(t *testing.T) {
	t.Parallel()
	f := DefaultFamily()
	for _, tc := range []struct {
		name   string
		weight float64
		skewed int
		caught bool
	}{
		{"a correct system", 100, -1, false},
		// 4/480 of weight is 3.3 points of a full node.
		{"a draw three points low on full nodes", 96.4, -1, true},
		{"a draw three points high on full nodes", 103.6, -1, true},
		{"a pod 15 % low", 100, 2, true},
		{"the poor node's pod 15 % low", 100, 12, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := lab{pods: []int{4, 4, 4, 1}, weight: tc.weight, skewed: tc.skewed, random: rand.New(rand.NewPCG(5, 6))}
			const runs = 12
			red := 0
			for range runs {
				if l.run(10_000).reds(f) > 0 {
					red++
				}
			}
			if want := map[bool]int{true: runs}[tc.caught]; red != want {
				t.Errorf("%d of %d runs are red, want %d", red, runs, want)
			}
		})
	}
}
