package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"secondhop/edge/haproxy"
	"secondhop/edge/states"
	"secondhop/internal/edges"
	"secondhop/internal/units"
)

func unitsOf(n int64) units.Bytes { return units.Bytes(n) }

func counted(proxy, name string, answers, retries uint64) haproxy.ServerStat {
	return haproxy.ServerStat{
		Proxy: proxy, Server: name, Status: "UP", Weight: 100,
		Requests: answers, Sessions: answers + retries, Balanced: answers, Retries: retries, Redispatches: retries / 2,
		ConnectErrors: retries, ResponseErrors: 1, BytesIn: 10 * answers, BytesOut: 100 * answers,
		Responses: haproxy.Responses{Success: answers},
	}
}

func TestProxyDelta(t *testing.T) {
	t.Parallel()
	before := edges.Stats{Worker: "a/1", Servers: []haproxy.ServerStat{counted("app", "slot0", 1000, 4), counted("app", "reg0", 200, 0)}}
	after := edges.Stats{Worker: "a/1", Servers: []haproxy.ServerStat{
		counted("app", "slot0", 1830, 10), counted("app", "reg0", 270, 0), counted("app", "reg1", 100, 0), counted("other", "slot0", 7, 0),
	}}
	delta := proxyDelta(before, after)
	if slots, all := delta.SlotShare("app"); delta.Restarted || slots != 830 || all != 1000 {
		t.Errorf("restarted %t, %d of %d by slots, want 830 of 1000", delta.Restarted, slots, all)
	}
	retries, redispatches, connect, response := delta.Failures("app")
	if retries != 6 || redispatches != 3 || connect != 6 || response != 1 {
		t.Errorf("failures %d %d %d %d", retries, redispatches, connect, response)
	}
	if s := delta.Servers[0]; s.BytesIn != 8300 || s.BytesOut != 83_000 || s.Requests != 830 || s.Sessions != 836 || s.Balanced != 830 || s.Weight != 100 {
		t.Errorf("slot0 %+v", s)
	}
	if after.Servers[0].Requests != 1830 {
		t.Error("the reading itself was changed")
	}
}

// A reload starts the counters anew; a difference of the two would be nonsense.
func TestProxyDeltaAcrossAReload(t *testing.T) {
	t.Parallel()
	before := edges.Stats{Worker: "a/1", Servers: []haproxy.ServerStat{counted("app", "slot0", 1000, 0)}}
	after := edges.Stats{Worker: "a/2", Servers: []haproxy.ServerStat{counted("app", "slot0", 1200, 0)}}
	delta := proxyDelta(before, after)
	if _, all := delta.SlotShare("app"); !delta.Restarted || all != 1200 {
		t.Errorf("restarted %t, %d answers, want those of the new process", delta.Restarted, all)
	}
}

func TestStatesKeepWhatTakesPartAndChanges(t *testing.T) {
	t.Parallel()
	var sent []Event
	w := newStateWatcher("app.slots", "app.plain", func(e Event) { sent = append(sent, e) })
	slot, reg := "slot0", "reg0"
	all := []states.Server{
		{Proxy: "app.slots", Server: slot, Status: "UP", Weight: 100},
		{Proxy: "app.slots", Server: reg, Status: "UP", Weight: 1}, // tracks the owner's
		{Proxy: "app.plain", Server: reg, Status: "UP", Weight: 1},
		{Proxy: "app.plain", Server: "reg1", Status: "MAINT", Weight: 1}, // a free place
		{Proxy: "other.slots", Server: slot, Status: "UP", Weight: 100},
	}
	for n, changed := range [][]states.Server{
		all,
		nil,
		{{Proxy: "app.slots", Server: slot, Status: "UP", Weight: 0}},
		{{Proxy: "app.slots", Server: slot, Status: "UP", Weight: 100}, {Proxy: "app.plain", Server: "reg1", Status: "UP", Weight: 1}},
		all, // the edge started anew: only reg1 is not as it was
	} {
		w.sample("w1", states.Sample{At: second(n + 1), Changed: changed})
	}
	want := []StateChange{
		{second(1), "w1", "app.slots", slot, "UP", 100},
		{second(1), "w1", "app.plain", reg, "UP", 1},
		{second(3), "w1", "app.slots", slot, "UP", 0},
		{second(4), "w1", "app.slots", slot, "UP", 100},
		{second(4), "w1", "app.plain", "reg1", "UP", 1},
		{second(5), "w1", "app.plain", "reg1", "MAINT", 1},
	}
	if diff := cmp.Diff(want, w.changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if w.samples["w1"] != 5 || len(sent) != len(want) || sent[2].Kind != EventServerState || !sent[2].At.Equal(second(3)) {
		t.Errorf("%d samples, events %+v", w.samples["w1"], sent)
	}
	if got := want[2].String(); !strings.Contains(got, "w1 app.slots/slot0 UP weight 0") {
		t.Errorf("String = %q", got)
	}
}
