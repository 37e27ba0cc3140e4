package measure_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/internal/measure"
	"secondhop/loadgen"
	"secondhop/loadgen/wire"
)

func answered(at time.Duration, ingress, podNode, pod, server string) loadgen.Record {
	return loadgen.Record{
		Node: ingress, Scheduled: at, Sent: at + time.Millisecond, Done: at + 3*time.Millisecond, Status: 200,
		IngressNode: ingress, PodNode: podNode, Pod: pod, Server: server,
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	records := []loadgen.Record{
		answered(1*time.Second, "w1", "w1", "a", "slot0"),
		answered(2*time.Second, "w1", "w1", "a", "reg3"), // local by chance
		answered(3*time.Second, "w1", "w2", "b", "reg4"),
		answered(4*time.Second, "w2", "w1", "a", "svc"),
		{Node: "w2", Scheduled: 5 * time.Second, Class: wire.Connect},
		{Node: "w2", IngressNode: "w2", Scheduled: 6 * time.Second, Status: 200}, // nobody says who
		answered(20*time.Second, "w1", "w1", "a", "slot0"),                       // outside the window
	}
	stray := answered(7*time.Second, "w1", "w1", "a", "slot0")
	stray.Node = "w2"
	tally := measure.TallyOf(append(records, stray), measure.Window{From: time.Second, To: 10 * time.Second})
	for _, tc := range []struct {
		name      string
		got, want any
	}{
		{"requests", tally.Requests, int64(7)},
		{"failed", tally.Failed, int64(1)},
		{"classes", tally.Classes, map[string]int64{string(wire.Connect): 1}},
		{"targets", tally.Targets, map[string]int64{"w1": 3, "w2": 4}},
		{"slot share", tally.SlotShare(), measure.Share{Hits: 2, N: 5}},
		{"local share", tally.LocalShare(), measure.Share{Hits: 3, N: 5}},
		{"slot share of w1", tally.SlotShareAt("w1"), measure.Share{Hits: 2, N: 4}},
		{"local share of w2", tally.LocalShareAt("w2"), measure.Share{Hits: 0, N: 1}},
		{"local share of nobody", tally.LocalShareAt("w9"), measure.Share{}},
		{"slot share of nobody", tally.SlotShareAt("w9"), measure.Share{}},
		{"edge", tally.EdgeShares([]string{"w1", "w2", "w9"}), []float64{.8, .2, 0}},
		{"edge of nothing", measure.NewTally().EdgeShares([]string{"w1"}), []float64(nil)},
		{"pods", tally.Pods, map[string]int64{"a": 4, "b": 1}},
		{"pod nodes", tally.PodNodes, map[string]string{"a": "w1", "b": "w2"}},
		{"unattributed", tally.Unattributed, int64(1)},
		{"misrouted", tally.Misrouted, int64(1)},
		{"response time", tally.Response().Quantile(1), 3 * time.Millisecond},
		{"drops", tally.Drops("id", "s").Verdict, measure.Fail},
		{"attributed", tally.Attributed("id", "s").Verdict, measure.Inconclusive},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	if q := tally.Service().Quantile(1); q != 2*time.Millisecond && q != 0 {
		t.Errorf("service time %s", q)
	}
	zones := map[string]string{"w1": "a", "w2": "a", "w3": "b"}
	across := measure.TallyOf([]loadgen.Record{
		answered(1, "w1", "w2", "b", "reg1"), answered(2, "w1", "w3", "c", "reg2"),
		answered(3, "w3", "w3", "c", "slot0"), answered(4, "w4", "w5", "d", "reg3"), answered(5, "w4", "w4", "e", "slot0"),
	}, measure.Window{})
	if got, want := across.ZoneShare(zones), (measure.Share{Hits: 3, N: 5}); got != want {
		t.Errorf("zone share %v, want %v", got, want)
	}
	machine := measure.TallyOf([]loadgen.Record{{Class: wire.Ports}, records[0]}, measure.Window{})
	if a := machine.Drops("id", "s"); a.Verdict != measure.Inconclusive || machine.Own != 1 {
		t.Errorf("a failure of the generator: %s", a)
	}
	clean := measure.TallyOf(records[:4], measure.Window{})
	if a := clean.Attributed("id", "s"); a.Verdict != measure.Pass {
		t.Errorf("clean tally: %s", a)
	}
}

// dip is a run of 60 s whose local share falls at 20 s and comes back at the
// given time after it, with the rate of the rolling-update scenario.
func dip(back time.Duration) []loadgen.Record {
	random := rand.New(rand.NewPCG(7, 8))
	var records []loadgen.Record
	for at := time.Duration(0); at < 60*time.Second; at += time.Second / 300 {
		share := .7308
		if at >= 20*time.Second && at < 20*time.Second+back {
			share = .55
		}
		podNode := "w2"
		if random.Float64() < share {
			podNode = "w1"
		}
		records = append(records, answered(at, "w1", podNode, "p", "slot0"))
	}
	// Records are written in the order in which requests end.
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	return records
}

func TestRecovered(t *testing.T) {
	t.Parallel()
	f := measure.DefaultFamily()
	recovered := func(back, until time.Duration) measure.Assertion {
		return f.Recovered("id", "subject", dip(back), 20*time.Second, until, .7308, 5*time.Second, 15*time.Second)
	}
	fast, slow := recovered(8*time.Second, 0), recovered(25*time.Second, 0)
	check(t, []verdictCase{
		{"in time", fast, measure.Pass, "windows of 5s with 1,500 requests or more"},
		{"too late", slow, measure.Fail, "want at most 15.000 s"},
		{"never", recovered(time.Hour, 0), measure.Fail, "in the last window, want 0.7308"},
		{"no dip", recovered(0, 0), measure.Pass, "observed 0.000 s"},
		{"no time to see it", recovered(8*time.Second, 24*time.Second), measure.Inconclusive, "the run ends before"},
	})
	// The windows slide by a second and the last bad one must have been mostly
	// in the dip, so the answer is a few seconds early at most and never late.
	if fast.Observed < 4 || fast.Observed > 8 || slow.Observed < 21 || slow.Observed > 25 {
		t.Errorf("recoveries after 8 s and 25 s are seen after %.0f s and %.0f s", fast.Observed, slow.Observed)
	}
}

// Chance must not delay a recovery: with a coarse level and dozens of windows,
// runs that never left their share are seen as recovered at once nearly always.
func TestRecoveryIsNotDelayedByChance(t *testing.T) {
	t.Parallel()
	f := measure.Family{Alpha: .05, Tests: 1}
	const runs = 40
	delayed := 0
	for run := range runs {
		random := rand.New(rand.NewPCG(9, uint64(run)))
		var records []loadgen.Record
		for at := time.Duration(0); at < 60*time.Second; at += time.Second / 50 {
			podNode := "w2"
			if random.Float64() < .7308 {
				podNode = "w1"
			}
			records = append(records, answered(at, "w1", podNode, "p", "slot0"))
		}
		if r := f.Recover(records, 0, 0, .7308, 5*time.Second); !r.Recovered || r.Took > 0 {
			delayed++
		}
	}
	// 5 % of 40 runs are 2; 7 or more have a probability of 0.3 %.
	if delayed > 6 {
		t.Errorf("%d of %d undisturbed runs are seen as disturbed at a level of 5 %%", delayed, runs)
	}
}

func TestBins(t *testing.T) {
	t.Parallel()
	records := dip(10 * time.Second)
	records[0].Class = wire.Connect
	bins := measure.Bins(records, measure.Window{}, 25*time.Second)
	if len(bins) != 3 || bins[2].From != 50*time.Second {
		t.Fatalf("%d bins", len(bins))
	}
	n, failed := int64(0), int64(0)
	for _, b := range bins {
		n += b.Local.N
		failed += b.Failed
	}
	if n != int64(len(records))-1 || failed != 1 {
		t.Errorf("%d answered and %d failed of %d records", n, failed, len(records))
	}
	if bins := measure.Bins(nil, measure.Window{}, time.Second); bins != nil {
		t.Errorf("nothing has %d bins", len(bins))
	}
	if bins := measure.Bins(records, measure.Window{}, 0); bins != nil {
		t.Errorf("bins of no width: %d", len(bins))
	}
}

func TestTraffic(t *testing.T) {
	t.Parallel()
	traffic := measure.Traffic{In: 4000, Out: 8000, Requests: 2}
	if traffic.InPerRequest() != 2000 || traffic.OutPerRequest() != 4000 {
		t.Errorf("%v in, %v out per request", traffic.InPerRequest(), traffic.OutPerRequest())
	}
	if got := (measure.Traffic{In: 1}).InPerRequest(); got == got {
		t.Errorf("bytes per no request: %v", got)
	}
}
