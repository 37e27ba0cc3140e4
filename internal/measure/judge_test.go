package measure_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"secondhop/internal/measure"
)

// verdictCase is an assertion that must have a verdict and say something.
type verdictCase struct {
	name string
	got  measure.Assertion
	want measure.Verdict
	says string
}

func check(t *testing.T, cases []verdictCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.got.Verdict != tc.want || !strings.Contains(tc.got.String(), tc.says) {
				t.Errorf("%s: %s\nwant %s, with %q", tc.got.Verdict, tc.got, tc.want, tc.says)
			}
			if tc.got.ID != "id" || tc.got.Subject != "subject" {
				t.Errorf("it is about %q %q", tc.got.ID, tc.got.Subject)
			}
		})
	}
}

func TestShareVerdicts(t *testing.T) {
	t.Parallel()
	f := measure.DefaultFamily()
	share := func(hits, n int64, expected float64) measure.Assertion {
		return f.Share("id", "subject", measure.Share{Hits: hits, N: n}, expected)
	}
	check(t, []verdictCase{
		{"right", share(29_232, 40_000, .7308), measure.Pass, "off by 3.0 points is seen with probability > 0.9999"},
		{"two points low", share(28_432, 40_000, .7308), measure.Fail, "want 0.7308 (0.72"},
		{"two points high", share(30_032, 40_000, .7308), measure.Fail, "observed 0.7508 (95 %: 0.7465..0.7550) of 40,000"},
		{"too few", share(731, 1_000, .7308), measure.Inconclusive, "which takes "},
		{"too few and still wrong", share(200, 1_000, .7308), measure.Fail, "observed 0.2000"},
		{"nothing", share(0, 0, .7308), measure.Inconclusive, "no request was observed"},
		{"never, as expected", share(0, 20_000, 0), measure.Pass, "want 0.0000"},
		{"once, never expected", share(1, 20_000, 0), measure.Fail, "want 0.0000"},
		{"always, as expected", share(20_000, 20_000, 1), measure.Pass, "want 1.0000"},
		{"not quite always", share(19_999, 20_000, 1), measure.Fail, "want 1.0000"},
	})
}

func TestOtherVerdicts(t *testing.T) {
	t.Parallel()
	agree := func(a, b, n int64) measure.Assertion {
		return measure.Agree("id", "subject", measure.Share{Hits: a, N: n}, measure.Share{Hits: b, N: n})
	}
	red := measure.Drops("drops", "s", 103, 13_501, nil)
	green := measure.Drops("drops", "s", 0, 13_501, nil)
	drops := func(failed, n int64, classes map[string]int64) measure.Assertion {
		return measure.Drops("id", "subject", failed, n, classes)
	}
	check(t, []verdictCase{
		{"no drop", drops(0, 37_500, nil), measure.Pass, "observed 0 of 37,500, want 0; at most 1 in 12,518 fails (95 %)"},
		{"drops", drops(103, 13_501, map[string]int64{"status": 82, "eof-reused": 21, "reset": 0}), measure.Fail, "21 eof-reused, 82 status"},
		{"all dropped", drops(5, 5, nil), measure.Fail, "at most 1 in 1 fails"},
		{"nothing sent", drops(0, 0, nil), measure.Inconclusive, "no request was sent"},
		{"views agree", agree(29_232, 29_200, 40_000), measure.Pass, "29,200 of 40,000 against 29,232"},
		{"views differ", agree(29_232, 28_900, 40_000), measure.Inconclusive, "differ by more than three standard errors"},
		{"views of nothing", agree(0, 0, 0), measure.Inconclusive, "saw no request"},
		{"views of none of many", agree(0, 0, 1_000), measure.Pass, "0 of 1,000"},
		{"views of all of many", agree(1_000, 0, 1_000), measure.Inconclusive, "differ"},
		{"within", measure.Within("id", "subject", "ratio", 1.02, 1, .9, 1.1), measure.Pass, "observed 1.020, want 1.000 (0.900..1.100)"},
		{"below", measure.Within("id", "subject", "ratio", .8, 1, .9, 1.1), measure.Fail, "observed 0.800"},
		{"not a number", measure.Within("id", "subject", "ratio", math.NaN(), 1, .9, 1.1), measure.Inconclusive, "nothing was observed"},
		{"at most", measure.AtMost("id", "subject", "seconds", 16, 15), measure.Fail, "want at most 15.000 s"},
		{"at least", measure.AtLeast("id", "subject", "count", 0, 1), measure.Fail, "want at least 1"},
		{"equal", measure.Equal("id", "subject", "count", 0, 0), measure.Pass, "observed 0, want 0"},
		{"not equal", measure.Equal("id", "subject", "count", 82, 0), measure.Fail, "observed 82, want 0"},
		{"near", measure.Near("id", "subject", "bytes", 4605, 4607, .01), measure.Pass, "observed 4,605 B, want 4,607 B"},
		{"far", measure.Near("id", "subject", "bytes", 4505, 4607, .01), measure.Fail, "4,505 B"},
		{"unknown", measure.CannotTell("id", "subject", "HAProxy was restarted"), measure.Inconclusive, "HAProxy was restarted"},
		{"cut", measure.Cut("id", "subject", 4972, 1792, .639, .02), measure.Pass, "observed 64.0 points, want 63.9 points (61.9 points..65.9 points); from 4,972 B to 1,792 B"},
		{"cut too small", measure.Cut("id", "subject", 4972, 2000, .639, .02), measure.Fail, "observed 59.8 points"},
		{"cut too large", measure.Cut("id", "subject", 4972, 1500, .639, .02), measure.Fail, "observed 69.8 points"},
		{"cut of nothing", measure.Cut("id", "subject", 0, 0, .639, .02), measure.Inconclusive, "nothing was observed"},
		{"parts", measure.Parts("id", "subject", 4397, .01, 51.5, 45.7, 4299.9, .2), measure.Pass, "the parts are 100.01 % of the whole"},
		{"missing part", measure.Parts("id", "subject", 4397, .01, 51.5, 4299.9), measure.Inconclusive, "98.96 %"},
		{"parts of nothing", measure.Parts("id", "subject", 0, .01), measure.Inconclusive, "nothing was counted"},
		{"control that turned red", measure.Control("id", "subject", true, red), measure.Pass, "the check drops has to be red: it is fail"},
		{"control that stayed green", measure.Control("id", "subject", true, green), measure.NotProvoked, "it is pass"},
		{"fault without effect", measure.Control("id", "subject", false, red), measure.NotProvoked, "did not take effect"},
	})
}

func TestPods(t *testing.T) {
	t.Parallel()
	f := measure.DefaultFamily()
	expected := map[string]float64{"a": .25, "b": .25, "c": .25, "d": .25}
	pods := func(a, b, c, d int64) measure.Assertion {
		return f.Pods("id", "subject", map[string]int64{"a": a, "b": b, "c": c, "d": d}, expected)
	}
	even := pods(10_050, 9_900, 10_000, 10_050)
	check(t, []verdictCase{
		{"even", even, measure.Pass, "4 pods, max 1.005 min 0.990 (sampling alone 1.009 0.991); a pod off by 15 % is seen with probability > 0.9999"},
		{"one pod 15 % low", pods(10_500, 8_500, 10_500, 10_500), measure.Fail, "observed 0.850 of 40,000, want 1.000 (0.959..1.041); wrong: a 1.050, b 0.850"},
		{"one pod unused", pods(13_333, 0, 13_333, 13_334), measure.Fail, "b 0.000"},
		{"too few", pods(100, 100, 100, 100), measure.Inconclusive, "is seen with probability 0."},
		{"none", pods(0, 0, 0, 0), measure.Inconclusive, "no request was observed"},
		{"absent pod", f.Pods("id", "subject", map[string]int64{"a": 20_000, "b": 20_000}, expected), measure.Fail, "c 0.000, d 0.000"},
		{"a stranger", f.Pods("id", "subject", map[string]int64{"a": 10_000, "b": 10_000, "c": 10_000, "d": 10_000, "old": 3}, expected), measure.Fail, "old served 3 requests and should not exist"},
		{"a pod that must not serve", f.Pods("id", "subject", map[string]int64{"a": 20_000, "b": 20_000, "x": 1}, map[string]float64{"a": .5, "b": .5, "x": 0}), measure.Fail, "x served 1 requests"},
		{"uneven, as expected", f.Pods("id", "subject", map[string]int64{"a": 30_000, "b": 10_000}, map[string]float64{"a": .75, "b": .25}), measure.Pass, "2 pods"},
	})
	if even.Tests != 4 {
		t.Errorf("four pods are %d tests", even.Tests)
	}
}

func TestBalance(t *testing.T) {
	t.Parallel()
	b := measure.BalanceOf(map[string]int64{"a": 12, "b": 8})
	if b.Max != 1.2 || b.Min != .8 || math.Abs(b.CV-.2) > 1e-12 || b.Pods != 2 {
		t.Errorf("balance %+v", b)
	}
	if b := measure.BalanceOf(map[string]int64{"a": 0}); b.Max != 0 || b.Pods != 1 {
		t.Errorf("balance of nothing %+v", b)
	}
	if b := measure.BalanceOf(nil); b != (measure.Balance{}) {
		t.Errorf("balance without pods %+v", b)
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(1000-i)*time.Millisecond)
	}
	l := measure.NewLatency(times)
	for q, want := range map[float64]time.Duration{0: 1, .5: 500, .99: 990, .999: 999, 1: 1000} {
		if got := l.Quantile(q); got != want*time.Millisecond {
			t.Errorf("quantile %v = %s, want %d ms", q, got, want)
		}
	}
	if got := (measure.Latency{}).Quantile(.5); got != 0 {
		t.Errorf("median of nothing %s", got)
	}
	both := l.Merge(measure.NewLatency([]time.Duration{5 * time.Second}))
	if both.N() != 1001 || both.Quantile(1) != 5*time.Second || l.N() != 1000 {
		t.Errorf("merged %d times, max %s", both.N(), both.Quantile(1))
	}
	check(t, []verdictCase{
		{"fast", measure.P99("id", "subject", l, time.Second), measure.Pass, "observed 0.990 s of 1,000, want at most 1.000 s; median 0.500 s"},
		{"slow", measure.P99("id", "subject", l, 900*time.Millisecond), measure.Fail, "want at most 0.900 s"},
		{"few", measure.P99("id", "subject", measure.NewLatency(times[:100]), time.Second), measure.Inconclusive, "fewer than 1,000"},
	})
	data, err := json.Marshal(l.Summary())
	if err != nil || string(data) != `{"n":1000,"p50ms":500,"p90ms":900,"p99ms":990,"p999ms":999,"maxMs":1000}` {
		t.Errorf("%s, %v", data, err)
	}
	var back measure.Quantiles
	if err := json.Unmarshal(data, &back); err != nil || back != l.Summary() {
		t.Errorf("read back as %+v, %v", back, err)
	}
}

func TestAssertionRoundTrip(t *testing.T) {
	t.Parallel()
	for _, a := range []measure.Assertion{
		measure.DefaultFamily().Share("local-share", "slots 4,4,4,1", measure.Share{Hits: 29_232, N: 40_000}, .7308),
		measure.AtMost("recovery", "roll", "seconds", 8, 15),
		measure.CannotTell("bytes", "w1", "no counter"),
	} {
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back measure.Assertion
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, back, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", data, diff)
		}
	}
}

func TestPrintExpectations(t *testing.T) {
	t.Parallel()
	f := measure.DefaultFamily()
	var out bytes.Buffer
	err := measure.PrintExpectations(&out, "slots on 4,4,4,1", []measure.Assertion{
		f.Share("local-share", "worker", measure.Share{Hits: 8_846, N: 10_000}, .8846),
		f.Share("local-share", "worker2", measure.Share{Hits: 8_246, N: 10_000}, .8846),
		measure.CannotTell("bytes", "worker", "the counter\n\x1b[2Jwas reset"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `slots on 4,4,4,1
  pass         local-share worker: observed 0.8846 (95 %: 0.8782..0.8907) of 10,000, want 0.8846 (0.8691..0.8995); off by 3.0 points is seen with probability > 0.9999
  fail         local-share worker2: observed 0.8246 (95 %: 0.8170..0.8319) of 10,000, want 0.8846 (0.8691..0.8995); off by 3.0 points is seen with probability > 0.9999   <---- WRONG
  inconclusive bytes worker: no bound; the counter  [2Jwas reset   <---- INCONCLUSIVE
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := measure.Count(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
}
