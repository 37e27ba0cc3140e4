package edge

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"secondhop/edge/haproxy"
)

// TestDrawKeepsItsShare has n slots open of four, and counts at both ends. At
// z = 4.5 a correct draw is red by chance in 7 of 10^6 runs; with 2,000 requests
// the bound is at most 5 points, and a share off by 9 is seen in 999 of 1,000 runs.
func TestDrawKeepsItsShare(t *testing.T) {
	t.Parallel()
	const requests, z = 2000, 4.5
	for n := 0; n <= 4; n++ {
		t.Run(fmt.Sprint(n, " slots"), func(t *testing.T) {
			t.Parallel()
			var regs, slots []*pod
			for i := range 2 {
				regs = append(regs, startPod(t, fmt.Sprint("reg", i)))
			}
			for i := range 4 {
				slots = append(slots, startPod(t, fmt.Sprint("slot", i)))
				if i >= n {
					slots[i].says.Store("0%")
				}
			}
			r := startEdge(t, shop("slots", regs, slots), nil)
			r.slotsOpen("app.shop.80.slots", n)
			served := send(t, r.url, requests)
			local := 0
			for name, count := range served {
				if strings.HasPrefix(name, "slot") {
					local += count
				}
			}
			expected := float64(n) * 100 / 480
			bound := z * math.Sqrt(expected*(1-expected)/requests)
			share := float64(local) / requests
			t.Logf("%d slots: share %.4f, expected %.4f +- %.4f", n, share, expected, bound)
			if math.Abs(share-expected) > bound {
				t.Errorf("share %.4f, expected %.4f +- %.4f", share, expected, bound)
			}
			var stats []haproxy.ServerStat
			for _, s := range r.servers() {
				stats = append(stats, s)
			}
			counted, all := haproxy.SlotShare(stats, "app.shop.80.slots")
			if counted != uint64(local) || all != requests {
				t.Errorf("HAProxy counts %d of %d from slots, clients %d of %d", counted, all, local, requests)
			}
		})
	}
}

// TestDrawWidensForHeavySlots has weights that add up to more than the range: two
// of 256, the most that HAProxy takes, share everything evenly.
func TestDrawWidensForHeavySlots(t *testing.T) {
	t.Parallel()
	const requests, z = 1000, 4.5
	slots := []*pod{startPod(t, "slot0"), startPod(t, "slot1")}
	for _, p := range slots {
		p.says.Store("up ready 300%")
	}
	r := startEdge(t, shop("slots", startPods(t, 1), slots), nil)
	r.until("both slots at 256", func(context.Context) error {
		table := r.servers()
		for n := range slots {
			if s := table[fmt.Sprint("app.shop.80.slots/slot", n)]; !s.Up() || s.Weight != 256 {
				return fmt.Errorf("%s is %s, weight %d", s.Server, s.Status, s.Weight)
			}
		}
		return nil
	})
	served := send(t, r.url, requests)
	share, bound := float64(served["slot0"])/requests, z*math.Sqrt(0.25/requests)
	if served["slot0"]+served["slot1"] != requests || math.Abs(share-0.5) > bound {
		t.Errorf("served %v, want only slots, each 0.5 +- %.3f", served, bound)
	}
}

// send makes n requests on one connection and returns how many each server
// answered, by the header X-Server.
func send(t *testing.T, url string, n int) map[string]int {
	t.Helper()
	c, err := dial(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.conn.Close()
	served := map[string]int{}
	for i := range n {
		response, err := c.do("GET", "/", "")
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("request %d: %v %v", i, response, err)
		}
		served[response.Header.Get("X-Server")]++
		if got := response.Header.Get("X-Ingress-Node"); got != "w1" {
			t.Fatalf("X-Ingress-Node is %q", got)
		}
	}
	return served
}
