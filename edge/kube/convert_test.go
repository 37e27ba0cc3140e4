package kube

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/edge/plan"
	"secondhop/edge/policy"
)

// byValue compares addresses, which have no exported fields.
func byValue() cmp.Option {
	return cmp.Options{
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
	}
}

func pathTo(path string, kind networking.PathType, service string, port networking.ServiceBackendPort) networking.HTTPIngressPath {
	return networking.HTTPIngressPath{Path: path, PathType: &kind, Backend: networking.IngressBackend{
		Service: &networking.IngressServiceBackend{Name: service, Port: port},
	}}
}

func TestIngress(t *testing.T) {
	t.Parallel()
	object := &networking.Ingress{
		ObjectMeta: meta.ObjectMeta{Namespace: "app", Name: "i", UID: "u", Annotations: map[string]string{
			PolicyAnnotation: "slots", RedispatchAnnotation: "off",
		}},
		Spec: networking.IngressSpec{
			DefaultBackend: &networking.IngressBackend{Service: &networking.IngressServiceBackend{Name: "rest", Port: networking.ServiceBackendPort{Number: 81}}},
			Rules: []networking.IngressRule{
				{Host: "no-http.example"},
				{Host: "a.example", IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{Paths: []networking.HTTPIngressPath{
					pathTo("/", networking.PathTypePrefix, "shop", networking.ServiceBackendPort{Name: "http"}),
					pathTo("/x", networking.PathTypeExact, "shop", networking.ServiceBackendPort{Number: 80}),
					pathTo("/y", networking.PathTypeImplementationSpecific, "shop", networking.ServiceBackendPort{Number: 80}),
					{Path: "/bucket"},
				}}}},
			},
		},
	}
	got, problems := ingress(object)
	want := plan.Ingress{Namespace: "app", Name: "i", UID: "u", Policy: "slots", Rules: []plan.Rule{
		{Host: "a.example", Path: "/", App: plan.AppKey{Namespace: "app", Service: "shop", Port: "http"}},
		{Host: "a.example", Path: "/x", Exact: true, App: plan.AppKey{Namespace: "app", Service: "shop", Port: "80"}},
		{Host: "a.example", Path: "/y", App: plan.AppKey{Namespace: "app", Service: "shop", Port: "80"}},
		{Path: "/", App: plan.AppKey{Namespace: "app", Service: "rest", Port: "81"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(problems) != 1 || problems[0].Reason != "UnsupportedBackend" || problems[0].UID != "u" {
		t.Errorf("problems %+v", problems)
	}

	object.Annotations[RedispatchAnnotation] = "maybe"
	got, problems = ingress(object)
	if !got.Redispatch || len(problems) != 2 || problems[0].Reason != "BadAnnotation" {
		t.Errorf("redispatch %t, problems %+v", got.Redispatch, problems)
	}
}

func slice(port *int32, name string, endpoints ...discovery.Endpoint) *discovery.EndpointSlice {
	return &discovery.EndpointSlice{Endpoints: endpoints, Ports: []discovery.EndpointPort{{Name: &name, Port: port}}}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	yes, no, port, node, zone := true, false, int32(8080), "w1", "zone-a"
	at := func(text string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(text), 8080) }
	got := endpoints([]*discovery.EndpointSlice{
		slice(&port, "http",
			discovery.Endpoint{Addresses: []string{"198.18.128.9"}, NodeName: &node, Zone: &zone, Hints: &discovery.EndpointHints{
				ForZones: []discovery.ForZone{{Name: "zone-b"}}, ForNodes: []discovery.ForNode{{Name: "w2"}},
			}},
			discovery.Endpoint{Addresses: []string{"198.18.128.7"}, Conditions: discovery.EndpointConditions{Ready: &no}},
			discovery.Endpoint{Addresses: []string{"pod.example"}}, discovery.Endpoint{}),
		slice(&port, "http", discovery.Endpoint{Addresses: []string{"198.18.128.7"}, Conditions: discovery.EndpointConditions{Ready: &yes}}),
		slice(&port, "http", discovery.Endpoint{Addresses: []string{"198.18.128.7"}, Conditions: discovery.EndpointConditions{Ready: &no}}),
		slice(&port, "metrics", discovery.Endpoint{Addresses: []string{"198.18.128.8"}}),
		slice(nil, "http", discovery.Endpoint{Addresses: []string{"198.18.128.8"}}),
	}, "http")
	want := []policy.Endpoint{
		{Address: at("198.18.128.7"), Ready: true},
		{Address: at("198.18.128.9"), Ready: true, Node: "w1", Zone: "zone-a", ForZones: []string{"zone-b"}, ForNodes: []string{"w2"}},
	}
	if diff := cmp.Diff(want, got, byValue()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func service(name, clusterIP string, ports ...core.ServicePort) *core.Service {
	return &core.Service{ObjectMeta: meta.ObjectMeta{Namespace: "app", Name: name}, Spec: core.ServiceSpec{ClusterIP: clusterIP, Ports: ports}}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	http, agent := core.ServicePort{Name: "http", Port: 80}, core.ServicePort{Name: "agent", Port: 8081}
	got, messages := slots([]*core.Service{
		service("shop-slot-10", "198.19.0.20", http, agent), service("shop-slot-1", "198.19.0.11", agent, http),
		service("shop", "198.19.0.1", http), service("shop-slot-", "198.19.0.2", http, agent), service("shop-slot-01", "198.19.0.3", http, agent),
		service("shop-slot-x", "198.19.0.4", http, agent), service("other-slot-0", "198.19.0.5", http, agent),
		service("shop-slot-2", "198.19.0.12", http), service("shop-slot-3", "", http, agent), service("shop-slot-4", "198.19.0.14", agent),
	}, "shop", http)
	want := []policy.Slot{
		{Number: 1, Address: netip.MustParseAddrPort("198.19.0.11:80"), AgentPort: 8081},
		{Number: 10, Address: netip.MustParseAddrPort("198.19.0.20:80"), AgentPort: 8081},
	}
	if diff := cmp.Diff(want, got, byValue()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	said := strings.Join(messages, "\n")
	for _, part := range []string{"shop-slot-2: no port agent", "shop-slot-3: no cluster IP", "shop-slot-4: no port http"} {
		if !strings.Contains(said, part) || len(messages) != 3 {
			t.Errorf("messages %q lack %q", messages, part)
		}
	}
}

func TestServicePort(t *testing.T) {
	t.Parallel()
	s := service("shop", "", core.ServicePort{Port: 80}, core.ServicePort{Name: "http", Port: 8080})
	for wanted, want := range map[string]int32{"80": 80, "http": 8080, "8080": 8080, "81": 0, "": 0} {
		if got, ok := servicePort(s, wanted); got.Port != want || ok != (want != 0) {
			t.Errorf("port %q is %d, %t", wanted, got.Port, ok)
		}
	}
}
