package edge

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"secondhop/edge/render"
)

// worker is the process id of the worker that serves.
func (r *rig) worker() int {
	r.t.Helper()
	pid, err := r.client.WorkerPID(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

// serving waits until exactly these pods answer on the plain frontend.
func (r *rig) serving(pods ...*pod) {
	r.t.Helper()
	want := map[string]bool{}
	for _, p := range pods {
		want[p.name] = true
	}
	r.until(fmt.Sprintf("answers of %d pods only", len(pods)), func(context.Context) error {
		got := map[string]bool{}
		for range 3 * len(pods) { // round robin
			response, err := get(r.plain)
			if err != nil {
				return err
			}
			got[response.Header.Get("X-Pod")] = true
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("answers come from %v", got)
		}
		return nil
	})
}

func startPods(t testing.TB, n int) []*pod {
	t.Helper()
	pods := make([]*pod, n)
	for i := range pods {
		pods[i] = startPod(t, fmt.Sprint("pod", i))
	}
	return pods
}

func TestEndpointsChangeWithoutReloadAndSurviveOne(t *testing.T) {
	t.Parallel()
	pods := startPods(t, 6)
	r := startEdge(t, shop("endpoints", pods[:3], nil), nil)
	first := r.worker()
	r.serving(pods[:3]...)

	r.source.set(shop("endpoints", pods[2:], nil)) // two go, three come
	r.serving(pods[2:]...)
	if now := r.worker(); now != first {
		t.Errorf("worker %d was replaced by %d: a change of endpoints must not reload", first, now)
	}
	config, err := os.ReadFile(r.files.config)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pods {
		if got, want := strings.Contains(string(config), p.address.String()+" check"), i >= 2; got != want {
			t.Errorf("text has pod%d: %t, want %t", i, got, want)
		}
	}

	if err := RequestReload(t.Context(), r.options.RunDir); err != nil { // as `edge reload` does
		t.Fatal(err)
	}
	if r.worker() == first {
		t.Error("no new worker after a reload")
	}
	r.serving(pods[2:]...)
}

// TestRuntimeOnlyAddressesAreLostByReload is the negative control of the one above.
func TestRuntimeOnlyAddressesAreLostByReload(t *testing.T) {
	t.Parallel()
	pods := startPods(t, 2)
	slots := []*pod{startPod(t, "slot0")}
	r := startEdge(t, shop("slots", pods, slots), func(o *Options) { o.Addresses = render.RuntimeOnly })
	r.slotsOpen("app.shop.80.slots", 1)
	r.serving(pods...)
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.until("regular servers to be lost", func(context.Context) error {
		for name, s := range r.servers() {
			if strings.Contains(name, "plain/reg") && s.Up() {
				return fmt.Errorf("%s is %s", name, s.Status)
			}
		}
		return nil
	})
	if response, err := get(r.plain); err != nil || response.StatusCode != 503 {
		t.Errorf("plain answers %v, %v; want 503", response, err)
	}
	for server, n := range send(t, r.url, 50) {
		if server != "slot0" {
			t.Errorf("%d answers of %s, want all of slot0: a share that is too high", n, server)
		}
	}
}

func TestReloadUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	regs, slots := startPods(t, 3), []*pod{startPod(t, "slot0"), startPod(t, "slot1")}
	slots[1].says.Store("0%") // a closed slot must stay closed
	r := startEdge(t, shop("slots", regs, slots), nil)
	r.slotsOpen("app.shop.80.slots", 1)
	requests := startLoad(t, r.url, "GET", 4, 5*time.Millisecond)
	n, closed := 0, 0
	for i := range 4 {
		r.source.set(shop("slots", regs[i%2:], slots)) // also change endpoints
		if err := r.Reload(t.Context()); err != nil {
			t.Error(err)
		}
		table := r.servers()
		if s := table["app.shop.80.slots/slot0"]; !s.Up() || s.Weight != 100 {
			t.Errorf("slot0 after reload %d: %s weight %d: its state was not handed on", i, s.Status, s.Weight)
		}
		requests.so()
		requests.until(t, 100)
		served := requests.so()
		n += total(served)
		closed += served["slot1"]
	}
	failed(t, "reloads under load", requests.stop(), n)
	if closed > 0 {
		t.Errorf("%d answers of a slot at 0 %%", closed)
	}
}

// A request that reaches the former worker on a connection that was idle during
// the reload is answered, and told that it was the last one.
func TestReloadLeavesIdleConnectionsForOneMoreRequest(t *testing.T) {
	t.Parallel()
	r := startEdge(t, shop("endpoints", startPods(t, 1), nil), nil)
	var idle []*client
	for range 5 {
		c, err := dial(strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.conn.Close()
		if response, err := c.do("GET", "/", ""); err != nil || response.Close {
			t.Fatalf("before the reload: %v, %v", response, err)
		}
		idle = append(idle, c)
	}
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, c := range idle {
		if response, err := c.do("GET", "/", ""); err != nil || response.StatusCode != 200 || !response.Close {
			t.Errorf("idle connection %d after the reload: %v, %v; want an answer that closes it", i, response, err)
		}
	}
}

func TestSlotsClosedByAgent(t *testing.T) {
	t.Parallel()
	regs, slots := startPods(t, 2), []*pod{startPod(t, "slot0"), startPod(t, "slot1")}
	r := startEdge(t, shop("slots", regs, slots), nil)
	r.slotsOpen("app.shop.80.slots", 2)
	slots[0].says.Store("0%")
	r.slotsOpen("app.shop.80.slots", 1)
	if served := send(t, r.url, 200); served["slot0"] != 0 || served["slot1"] == 0 {
		t.Errorf("served %v, want nothing of slot0 and something of slot1", served)
	}
	slots[0].says.Store("up ready 100%")
	r.slotsOpen("app.shop.80.slots", 2)
}
