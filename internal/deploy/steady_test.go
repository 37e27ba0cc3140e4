package deploy

import (
	"strings"
	"testing"

	"secondhop/edge/haproxy"
	"secondhop/internal/edges"
)

// testApp has 2 pods on w1, 5 on w2 and none on w3.
func testApp(policy Policy) *App {
	spec := AppSpec{Placement: []int{2, 5, 0}, Policy: policy}.withDefaults()
	app, _ := spec.plan([]string{"w1", "w2", "w3"}, "image")
	return app
}

func server(proxy, name, status string, weight int) haproxy.ServerStat {
	return haproxy.ServerStat{Proxy: proxy, Server: name, Status: status, Weight: weight}
}

// edgeOf is an edge with so many open slots and regular servers up, and some of
// each that are not.
func edgeOf(app *App, slots, regular int) edges.Stats {
	var servers []haproxy.ServerStat
	for n := range 4 {
		name := "slot" + string(rune('0'+n))
		if n < slots {
			servers = append(servers, server(app.Backend(), name, "UP", 100))
		} else {
			servers = append(servers, server(app.Backend(), name, "MAINT", 100))
		}
	}
	for n := range 12 {
		name, status := "reg"+string(rune('a'+n)), "MAINT"
		if n < regular {
			status = "UP"
		}
		servers = append(servers, server(app.OwnerBackend(), name, status, 1))
		if app.Spec.Policy == PolicySlots {
			servers = append(servers, server(app.Backend(), name, status, 1))
		}
	}
	return edges.Stats{Worker: "pod/7", Servers: servers}
}

func TestSteady(t *testing.T) {
	t.Parallel()
	app := testApp(PolicySlots)
	good := func() map[string]edges.Stats {
		return map[string]edges.Stats{"w1": edgeOf(app, 2, 7), "w2": edgeOf(app, 4, 7), "w3": edgeOf(app, 0, 7)}
	}
	for _, tc := range []struct {
		name   string
		change func(map[string]edges.Stats)
		want   string // part of the miss; "" for steady
	}{
		{"all up", func(map[string]edges.Stats) {}, ""},
		{"a slot is shut", func(s map[string]edges.Stats) { s["w2"] = edgeOf(app, 3, 7) }, "w2 has 3 of 4 slots at full weight"},
		{"a slot too many", func(s map[string]edges.Stats) { s["w3"] = edgeOf(app, 1, 7) }, "w3 has 1 of 0 slots"},
		{"a slot in its slow start", func(s map[string]edges.Stats) { s["w1"].Servers[0].Weight = 75 }, "w1 has 1 of 2 slots"},
		{"a slot going up still counts", func(s map[string]edges.Stats) { s["w1"].Servers[0].Status = "UP 1/3" }, ""},
		{"a regular server is down", func(s map[string]edges.Stats) { s["w1"] = edgeOf(app, 2, 6) }, "w1 has 6 of 7 regular servers up"},
		{"an old pod is still there", func(s map[string]edges.Stats) { s["w1"] = edgeOf(app, 2, 8) }, "w1 has 8 of 7 regular servers up"},
		{"both", func(s map[string]edges.Stats) { s["w1"] = edgeOf(app, 1, 6) }, "1 of 2 slots at full weight and 6 of 7 regular"},
		{"no backend yet", func(s map[string]edges.Stats) { s["w2"] = edges.Stats{} }, "w2 has no backend app.my-app.80.slots"},
		{"an edge that was not asked", func(s map[string]edges.Stats) { delete(s, "w3") }, "w3 has no backend"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			stats := good()
			tc.change(stats)
			_, err := app.steady(stats)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("not steady: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("miss = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestSteadyOfOtherPolicies(t *testing.T) {
	t.Parallel()
	plain := testApp(PolicyEndpoints)
	never := AppSpec{Placement: []int{1, 0, 0}, Agent: AgentNeverReady}.withDefaults()
	shut, _ := never.plan([]string{"w1", "w2", "w3"}, "image")
	service := testApp(PolicyClusterIP)
	withService := func(up string) edges.Stats {
		stats := edgeOf(service, 0, 7)
		stats.Servers = append(stats.Servers, server(service.Backend(), "svc", up, 1))
		return stats
	}
	for name, tc := range map[string]struct {
		app   *App
		stats edges.Stats
		want  bool
	}{
		"endpoints":                             {plain, edgeOf(plain, 0, 7), true},
		"an agent that is never ready":          {shut, edgeOf(shut, 0, 1), true},
		"an agent that is ready after all":      {shut, edgeOf(shut, 1, 1), false},
		"the Service, without a check":          {service, withService("no check"), true},
		"the Service, which is not there (yet)": {service, withService("MAINT"), false},
	} {
		stats := map[string]edges.Stats{"w1": tc.stats, "w2": tc.stats, "w3": tc.stats}
		if _, err := tc.app.steady(stats); (err == nil) != tc.want {
			t.Errorf("%s: miss = %v, want steady %t", name, err, tc.want)
		}
	}
}

func TestIngressMiss(t *testing.T) {
	t.Parallel()
	urls := []string{"http://198.18.0.3:80/-/ready", "http://198.18.0.4:80/-/ready"}
	for _, tc := range []struct{ name, answers, want string }{
		{"all answer", "200 http://198.18.0.4:80/-/ready\n200 http://198.18.0.3:80/-/ready\n", ""},
		{"one drains", "200 http://198.18.0.4:80/-/ready\n503 http://198.18.0.3:80/-/ready\n", "198.18.0.3:80/-/ready answers 503"},
		{"one is silent", "200 http://198.18.0.4:80/-/ready\n000 http://198.18.0.3:80/-/ready\n", "198.18.0.3:80/-/ready does not answer"},
		{"one is missing", "200 http://198.18.0.4:80/-/ready\n", "198.18.0.3:80/-/ready does not answer"},
	} {
		err := ingressMiss(urls, tc.answers, nil)
		if (tc.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
