package edge

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"secondhop/edge/plan"
	"secondhop/edge/policy"
)

func ruleTo(host string, app plan.AppKey) plan.Rule {
	return plan.Rule{Host: host, Path: "/", App: app}
}

func TestClusterIPIsOneServer(t *testing.T) {
	t.Parallel()
	service := startPod(t, "service") // stands where kube-proxy answers
	snapshot := shop("cluster-ip", startPods(t, 2), nil)
	key := snapshot.Ingresses[0].Rules[0].App
	app := snapshot.Apps[key]
	app.ClusterIP = service.address
	snapshot.Apps[key] = app
	r := startEdge(t, snapshot, nil)
	if served := send(t, r.url, 20); served["svc"] != 20 || service.requests.Load() != 20 {
		t.Errorf("served %v, %d by the Service's address", served, service.requests.Load())
	}
}

func TestFallbackIsReported(t *testing.T) {
	t.Parallel()
	for policyName, reason := range map[string]string{"nearest": "UnknownPolicy", "cluster-ip": "PolicyNotPossible"} {
		t.Run(policyName, func(t *testing.T) {
			t.Parallel()
			r := startEdge(t, shop(policyName, startPods(t, 1), nil), nil) // the Service has no ClusterIP
			if got := r.source.reported(); len(got) != 1 || got[0].Reason != reason || got[0].Ingress != "shop" {
				t.Errorf("reported %+v, want one %s", got, reason)
			}
			if served := send(t, r.url, 5); served["reg0"] != 5 {
				t.Errorf("served %v, want all of reg0", served)
			}
		})
	}
}

// TestPoolGrows has more endpoints than places, under load.
func TestPoolGrows(t *testing.T) {
	t.Parallel()
	pods := startPods(t, 30) // 24 places at first
	r := startEdge(t, shop("endpoints", pods[:2], nil), nil)
	first := r.worker()
	requests := startLoad(t, r.url, "GET", 2, 5*time.Millisecond)
	r.source.set(shop("endpoints", pods, nil))
	r.serving(pods...)
	failed(t, "while the pool grew", requests.stop(), total(requests.so()))
	if r.worker() == first {
		t.Error("no reload: the test has too few endpoints")
	}
}

// TestStructureChanges adds and removes an Ingress under load of another.
func TestStructureChanges(t *testing.T) {
	t.Parallel()
	pods := startPods(t, 2)
	one := shop("endpoints", pods[:1], nil)
	two := shop("endpoints", pods[:1], nil)
	other := plan.AppKey{Namespace: "app", Service: "cart", Port: "80"}
	two.Apps[other] = policy.App{Namespace: "app", Service: "cart", Port: 80, Endpoints: []policy.Endpoint{pods[1].endpoint()}}
	two.Ingresses = append(two.Ingresses, plan.Ingress{
		Namespace: "app", Name: "cart", Redispatch: true, Rules: []plan.Rule{{Path: "/cart", App: other}},
	})
	r := startEdge(t, one, nil)
	requests := startLoad(t, r.url, "GET", 2, 5*time.Millisecond)
	served := func(name string) func(context.Context) error {
		return func(context.Context) error {
			response, err := get(r.url + "/cart/1")
			if err == nil && response.Header.Get("X-Pod") != name {
				err = fmt.Errorf("answered by %q", response.Header.Get("X-Pod"))
			}
			return err
		}
	}
	r.source.set(two)
	r.until("the second Ingress", served("pod1"))
	r.source.set(one)
	r.until("the first alone", served("pod0"))
	failed(t, "while Ingresses changed", requests.stop(), total(requests.so()))
}

func TestRoutesByHostAndPath(t *testing.T) {
	t.Parallel()
	pods := startPods(t, 6)
	snapshot := plan.Snapshot{Apps: map[plan.AppKey]policy.App{}}
	rules := []plan.Rule{
		{Host: "a.example", Path: "/"}, {Host: "a.example", Path: "/x"}, {Host: "a.example", Path: "/x/y", Exact: true},
		{Host: "*.example", Path: "/"}, {Host: "", Path: "/it's"}, {Host: "a.example", Path: "/x/longer"},
	}
	for i, rule := range rules {
		rule.App = plan.AppKey{Namespace: "app", Service: fmt.Sprint("s", i), Port: "80"}
		snapshot.Apps[rule.App] = policy.App{Namespace: "app", Service: rule.App.Service, Port: 80, Endpoints: []policy.Endpoint{pods[i].endpoint()}}
		snapshot.Ingresses = append(snapshot.Ingresses, plan.Ingress{Namespace: "app", Name: rule.App.Service, Redispatch: true, Rules: []plan.Rule{rule}})
	}
	r := startEdge(t, snapshot, nil)
	for _, tt := range []struct {
		host, path string
		want       int // pod, or status
	}{
		{"a.example", "/", 0}, {"A.Example:80", "/xy", 0}, {"a.example", "/x", 1}, {"a.example", "/x/", 1}, {"a.example", "/x/z?q", 1},
		{"a.example", "/x/y", 2}, {"a.example", "/x/y/", 1}, {"b.example", "/x", 3}, {"c.b.example", "/", 404}, {"example", "/", 404},
		{"other", "/it's/so", 4}, {"other", "/its", 404}, {"a.example", "/x/longer/path", 5}, {"bxexample", "/", 404},
	} {
		response, err := ask(r.options.Process.PlainBind, tt.host, tt.path)
		if err != nil {
			t.Fatal(err)
		}
		got := response.StatusCode
		if got == http.StatusOK {
			fmt.Sscanf(response.Header.Get("X-Pod"), "pod%d", &got)
		}
		if got != tt.want {
			t.Errorf("%s%s goes to %d, want %d", tt.host, tt.path, got, tt.want)
		}
		if response.Header.Get("X-Ingress-Node") != "w1" {
			t.Errorf("%s%s: no X-Ingress-Node", tt.host, tt.path)
		}
	}
}

func ask(address, host, path string) (*http.Response, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	c.host = host
	return c.do(http.MethodGet, path, "")
}
