package plan

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/edge/policy"
	"secondhop/edge/render"
)

func key(service, port string) AppKey { return AppKey{Namespace: "app", Service: service, Port: port} }

func app(service string, endpoints ...int) policy.App {
	a := policy.App{Namespace: "app", Service: service, Port: 80, ClusterIP: netip.MustParseAddrPort("198.19.0.7:80")}
	for _, n := range endpoints {
		a.Endpoints = append(a.Endpoints, policy.Endpoint{Address: address(n), Ready: n%10 != 9})
	}
	a.Slots = []policy.Slot{{Number: 1, Address: netip.MustParseAddrPort("198.19.0.11:80"), AgentPort: 8081}}
	return a
}

func ingress(name, policyName string, rules ...Rule) Ingress {
	return Ingress{Namespace: "app", Name: name, Policy: policyName, Redispatch: true, Rules: rules}
}

// describe is a backend in one line: what it tracks, servers that are in use, slots.
func describe(b render.Backend) string {
	words := []string{b.Name}
	if b.Track != "" {
		words = append(words, "follows", b.Track)
	}
	for _, s := range b.Servers {
		if s.Address.IsValid() {
			word := s.Name + "=" + s.Address.String()
			if !s.Enabled {
				word += "(closed)"
			}
			words = append(words, word)
		}
	}
	for _, s := range b.Slots {
		words = append(words, s.Name()+"="+s.Address)
	}
	if !b.Redispatch {
		words = append(words, "no redispatch")
	}
	return strings.Join(words, " ")
}

func TestPlanBackends(t *testing.T) {
	t.Parallel()
	const owner = "app.shop.80.plain reg0=198.18.128.1:8080 reg1=198.18.128.2:8080" // 9 is not ready
	both := "reg0=198.18.128.1:8080 reg1=198.18.128.2:8080"
	tests := []struct {
		name, policy string
		off          bool
		want         []string
		route        string // backend in both frontends
	}{
		{"default", "", false, []string{"app.shop.80.endpoints follows app.shop.80.plain " + both, owner}, "app.shop.80.endpoints app.shop.80.plain"},
		{"slots", "slots", false, []string{owner, "app.shop.80.slots follows app.shop.80.plain " + both + " slot1=198.19.0.11:80"}, "app.shop.80.slots app.shop.80.plain"},
		{"cluster-ip", "cluster-ip", false, []string{"app.shop.80.cluster-ip svc=198.19.0.7:80", owner}, "app.shop.80.cluster-ip app.shop.80.plain"},
		{"off", "endpoints", true, []string{
			"app.shop.80.endpoints.noredispatch follows app.shop.80.plain " + both + " no redispatch", owner,
			"app.shop.80.plain.noredispatch follows app.shop.80.plain " + both + " no redispatch",
		}, "app.shop.80.endpoints.noredispatch app.shop.80.plain.noredispatch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := ingress("shop", tt.policy, Rule{Path: "/", App: key("shop", "80")}, Rule{Host: "by-name", Path: "/", App: key("shop", "http")})
			i.Redispatch = !tt.off
			a := app("shop", 1, 2, 9)
			var p Planner
			routes, backends, problems := p.Plan(Snapshot{Ingresses: []Ingress{i}, Apps: map[AppKey]policy.App{key("shop", "80"): a, key("shop", "http"): a}})
			var got []string
			for _, b := range backends {
				got = append(got, describe(b))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("backends (-want +got):\n%s", diff)
			}
			for _, r := range routes {
				if got := r.Backend + " " + r.Plain; got != tt.route {
					t.Errorf("route to %s, want %s", got, tt.route)
				}
			}
			if len(problems) > 0 || len(routes) != 2 {
				t.Errorf("%d routes, problems %+v", len(routes), problems)
			}
		})
	}
}

func TestPlanProblems(t *testing.T) {
	t.Parallel()
	headless := app("shop", 1)
	headless.ClusterIP = netip.AddrPort{}
	root := Rule{Path: "/", App: key("shop", "80")}
	late := ingress("late", "", root)
	late.Created = time.Unix(100, 0)
	tests := []struct {
		name      string
		ingresses []Ingress
		want      string
		backend   string
	}{
		{"unknown policy", []Ingress{ingress("i", "nearest", root)}, `UnknownPolicy app/i: unknown endpoint policy "nearest", want one of cluster-ip, endpoints, hints, slots, slots-published, zone; it is served by endpoints instead`, "app.shop.80.endpoints"},
		{"headless", []Ingress{ingress("i", "cluster-ip", root)}, "PolicyNotPossible app/i: policy cluster-ip: app app/shop has no cluster IP; it is served by endpoints instead", "app.shop.80.endpoints"},
		{"no service", []Ingress{ingress("i", "slots", Rule{Path: "/", App: key("gone", "http")})}, "NoService app/i: no Service app/gone with port http; its requests get 503", "app.gone.http.slots"},
		{"conflict", []Ingress{late, ingress("early", "slots", root)}, `Conflict app/late: host "" path "/" already goes where Ingress app/early says`, "app.shop.80.slots"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Planner
			routes, _, problems := p.Plan(Snapshot{Ingresses: tt.ingresses, Apps: map[AppKey]policy.App{key("shop", "80"): headless}})
			if len(problems) != 1 || len(routes) != 1 {
				t.Fatalf("routes %+v, problems %+v", routes, problems)
			}
			got := problems[0].Reason + " " + problems[0].Namespace + "/" + problems[0].Ingress + ": " + problems[0].Message
			if got != tt.want {
				t.Errorf("problem\n%s, want\n%s", got, tt.want)
			}
			if routes[0].Backend != tt.backend {
				t.Errorf("route to %s, want %s", routes[0].Backend, tt.backend)
			}
		})
	}
}

func TestPlanForgetsUnusedApps(t *testing.T) {
	t.Parallel()
	var p Planner
	full := Snapshot{Ingresses: []Ingress{ingress("i", "", Rule{Path: "/", App: key("shop", "80")})}, Apps: map[AppKey]policy.App{key("shop", "80"): app("shop", 1)}}
	p.Plan(full)
	p.Plan(Snapshot{})
	if len(p.pools) != 0 {
		t.Errorf("%d pools are left", len(p.pools))
	}
}

func TestRouteOrder(t *testing.T) {
	t.Parallel()
	routes := []render.Route{
		{Path: "/long/path"}, {Host: "*.example", Path: "/"}, {Host: "a.example", Path: "/"}, {Host: "a.example", Path: "/x"},
		{Host: "a.example", Path: "/x", Exact: true}, {Host: "*.b.example", Path: "/"}, {Path: "/"},
	}
	sortRoutes(routes)
	var got []string
	for _, r := range routes {
		word := r.Host + r.Path
		if r.Exact {
			word += "="
		}
		got = append(got, word)
	}
	want := []string{"a.example/x=", "a.example/x", "a.example/", "*.b.example/", "*.example/", "/long/path", "/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
