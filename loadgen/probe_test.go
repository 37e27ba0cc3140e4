package loadgen

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const unavailable = "HTTP/1.1 503 Draining\r\nContent-Length: 0\r\n\r\n"

func probe() *Probe {
	return &Probe{Path: "/-/ready", Interval: Duration(10 * time.Millisecond), Timeout: Duration(time.Second), Fall: 2, Rise: 2}
}

// TestProbeTakesATargetOutAndBack: w2 reports itself draining after its 10th
// request, and ready again when w1 has had 20 requests since, and gets 5 more.
func TestProbeTakesATargetOutAndBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var draining atomic.Bool
	var w1, w2 atomic.Int64
	a := serve(t, func(e exchange) string {
		if e.URL.Path == "/" && draining.Load() && w1.Add(1) == 20 {
			draining.Store(false)
		}
		return ok("")
	})
	b := serve(t, func(e exchange) string {
		switch {
		case e.URL.Path == "/-/ready" && draining.Load():
			return unavailable
		case e.URL.Path == "/" && w2.Add(1) == 10:
			draining.Store(true)
		case e.URL.Path == "/" && w1.Load() >= 20 && w2.Add(100) > 500:
			cancel()
		}
		return ok("")
	})
	plan := planFor(a, b)
	plan.Rate, plan.Duration, plan.Probe, plan.OpenEnded = 50, Duration(time.Minute), probe(), true
	summary, records := runPlan(t, ctx, plan)

	assert.Equal(t, map[string]uint64{"ok": summary.Requests}, summary.ByClass, "draining costs no request")
	require.Len(t, summary.Events, 2)
	out, back := summary.Events[0], summary.Events[1]
	assert.Equal(t, []any{"w2", false, "probe: status 503"}, []any{out.Node, out.Up, out.Reason})
	assert.Equal(t, []any{"w2", true}, []any{back.Node, back.Up})
	during, after := 0, 0
	for _, r := range records {
		if r.Node == "w2" && r.Scheduled >= out.At && r.Sent < back.At {
			during++
		}
		if r.Node == "w2" && r.Sent > back.At {
			after++
		}
	}
	assert.Zero(t, during, "no request goes to a target that is out")
	assert.Positive(t, after)
}

// TestTargetOutFinishesWhatItHas: w2 holds a request, reports itself draining,
// and answers only when it has been taken out, which takes long enough for another
// connection to fall idle. The request ends well, and then both connections are
// closed: nothing but the probes connects to w2.
func TestTargetOutFinishesWhatItHas(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var holding atomic.Bool
	var failedProbes, answered atomic.Int64
	out := make(chan struct{})
	a := serve(t, func(exchange) string { return ok("") })
	var b *server
	ready := make(chan struct{})
	b = serve(t, func(e exchange) string {
		<-ready
		switch {
		case e.URL.Path == "/-/ready" && holding.Load():
			if failedProbes.Add(1) == 17 { // 15 take it out; at the 16th, the 15th had been counted
				close(out)
			}
			if answered.Load() > 0 && b.open.Load() == 1 { // the probe's own
				cancel()
			}
			return unavailable
		case e.URL.Path == "/" && holding.CompareAndSwap(false, true):
			<-out
			answered.Add(1)
			return ok("held")
		}
		return ok("")
	})
	close(ready)
	plan := planFor(a, b)
	plan.Duration, plan.Probe, plan.Rate, plan.OpenEnded = Duration(20*time.Second), probe(), 50, true
	plan.Probe.Fall = 15
	summary, records := runPlan(t, ctx, plan)
	assert.True(t, summary.Interrupted, "w2's connections were closed before the end")
	assert.Equal(t, map[string]uint64{"ok": summary.Requests}, summary.ByClass)
	held := 0
	for _, r := range records {
		if r.Bytes == 4 {
			held++
			require.Less(t, summary.Events[0].At, r.Done)
		}
	}
	assert.Equal(t, 1, held, "the held request was answered in the end")
}

func TestAllTargetsOut(t *testing.T) {
	t.Parallel()
	s := serve(t, func(e exchange) string {
		if e.URL.Path == "/-/ready" {
			return unavailable
		}
		return ok("")
	})
	for _, by := range []string{ByRequest, ByConnection} {
		plan := planFor(s)
		plan.Probe, plan.SpreadBy, plan.Rate, plan.Duration = probe(), by, 40, Duration(time.Second)
		plan.Probe.Fall = 1
		summary, records := runPlan(t, t.Context(), plan)
		assert.EqualValues(t, 40, summary.Requests, "none is skipped")
		assert.Positive(t, summary.ByClass["no-target"])
		assert.EqualValues(t, 40, summary.ByClass["no-target"]+summary.ByClass["ok"])
		last := records[39]
		assert.Equal(t, []any{"no-target", "", noTarget}, []any{string(last.Class), last.Node, last.Detail})
		assert.Zero(t, last.Connect)
	}
}

func TestProbeOfADeadTarget(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("") })
	s.close()
	plan := planFor(s)
	plan.Probe = probe()
	summary, _ := runPlan(t, t.Context(), plan)
	require.Len(t, summary.Events, 1)
	assert.Contains(t, summary.Events[0].Reason, "refused")
}

func TestProbeTimesOut(t *testing.T) {
	t.Parallel()
	stall := make(chan struct{})
	s := serve(t, func(e exchange) string {
		if e.URL.Path == "/-/ready" {
			<-stall
		}
		return ok("")
	})
	t.Cleanup(func() { close(stall) })
	plan := planFor(s)
	plan.Probe, plan.Duration = probe(), Duration(500*time.Millisecond)
	plan.Probe.Timeout = Duration(20 * time.Millisecond)
	summary, _ := runPlan(t, t.Context(), plan)
	require.Len(t, summary.Events, 1)
	assert.Regexp(t, "deadline exceeded|i/o timeout", summary.Events[0].Reason)
}
