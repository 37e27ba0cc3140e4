package kube

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"secondhop/edge/plan"
	"secondhop/edge/policy"
	"secondhop/fixtures/manifests"
	"secondhop/internal/envtest"
	"secondhop/internal/wait"
)

// TestServer runs Source and Reporter against a real API server, with the rights
// of edge's manifest and no more.
func TestServer(t *testing.T) {
	t.Parallel()
	account := envtest.ServiceAccount(manifests.LabNamespace, "edge")
	server := envtest.Start(t, account)
	admin, err := kubernetes.NewForConfig(server.Admin())
	must(t, err)
	grant(t, admin)
	client, err := kubernetes.NewForConfig(server.As(account))
	must(t, err)

	source, err := New(client, "secondhop", policy.Node{Name: "w1"})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer source.Stop()
	defer stop()
	must(t, source.Start(ctx))

	makeShop(t, admin)
	key := plan.AppKey{Namespace: "shop", Service: "my-app", Port: "http"}
	seen := follow(t, source, "the whole app", func(s plan.Snapshot) bool {
		app := s.Apps[key]
		return len(s.Ingresses) == 1 && len(app.Endpoints) == 1 && len(app.Slots) == 1
	})
	if got := seen.Ingresses[0]; got.Name != "mine" || got.Policy != "slots" || len(got.Rules) != 1 || got.Rules[0].App != key {
		t.Errorf("Ingress %+v", got)
	}
	app := seen.Apps[key]
	if app.Endpoints[0].Address != netip.MustParseAddrPort("198.18.128.5:8080") || !app.ClusterIP.IsValid() || app.Port != 80 {
		t.Errorf("app %+v", app)
	}

	part, err := admin.DiscoveryV1().EndpointSlices("shop").Get(t.Context(), "my-app-1", meta.GetOptions{})
	must(t, err)
	no := false
	part.Endpoints[0].Conditions.Ready = &no
	_, err = admin.DiscoveryV1().EndpointSlices("shop").Update(t.Context(), part, meta.UpdateOptions{})
	must(t, err)
	follow(t, source, "the endpoint not ready", func(s plan.Snapshot) bool { return !s.Apps[key].Endpoints[0].Ready })
	must(t, admin.CoreV1().Services("shop").Delete(t.Context(), "my-app-slot-0", meta.DeleteOptions{}))
	follow(t, source, "no slot", func(s plan.Snapshot) bool { return len(s.Apps[key].Slots) == 0 })

	reporter := NewReporter(client, "w1", slog.New(slog.DiscardHandler))
	defer reporter.Stop()
	problem := plan.Problem{Namespace: "shop", Ingress: "mine", UID: seen.Ingresses[0].UID, Reason: "UnknownPolicy", Message: "as a test"}
	for range 3 { // told once
		reporter.Report([]plan.Problem{problem})
	}
	until(t, "an event", func(ctx context.Context) error {
		events, err := admin.CoreV1().Events("shop").List(ctx, meta.ListOptions{})
		if err == nil && (len(events.Items) != 1 || events.Items[0].InvolvedObject.Name != "mine" || events.Items[0].Reason != "UnknownPolicy" || events.Items[0].Count > 1) {
			err = fmt.Errorf("events %+v", events.Items)
		}
		return err
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func until(t *testing.T, subject string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	must(t, wait.Until(ctx, subject, 20*time.Millisecond, try))
}

// follow takes snapshots at each change until one is as wanted: a change that is
// not announced is never seen.
func follow(t *testing.T, source *Source, subject string, wanted func(plan.Snapshot) bool) plan.Snapshot {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case <-source.Changed():
		case <-deadline:
			s, _ := source.Snapshot()
			t.Fatalf("no snapshot with %s; the last: %+v", subject, s)
		}
		if s, _ := source.Snapshot(); wanted(s) {
			return s
		}
	}
}

// grant applies what edge's manifest has of RBAC.
func grant(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	text, err := manifests.Edge{Namespace: manifests.LabNamespace, Image: "none", Class: "secondhop"}.Render()
	must(t, err)
	for document := range slices.Values(bytes.Split(text, []byte("\n---\n"))) {
		var kind meta.TypeMeta
		must(t, yaml.Unmarshal(document, &kind))
		switch kind.Kind {
		case "ClusterRole":
			var role rbac.ClusterRole
			must(t, yaml.UnmarshalStrict(document, &role))
			_, err := admin.RbacV1().ClusterRoles().Create(t.Context(), &role, meta.CreateOptions{})
			must(t, err)
		case "ClusterRoleBinding":
			var binding rbac.ClusterRoleBinding
			must(t, yaml.UnmarshalStrict(document, &binding))
			_, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &binding, meta.CreateOptions{})
			must(t, err)
		}
	}
}

// makeShop makes an app with one endpoint and one slot, an Ingress to it, and one
// of another class.
func makeShop(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	ctx, create := t.Context(), meta.CreateOptions{}
	named := func(name string) meta.ObjectMeta { return meta.ObjectMeta{Namespace: "shop", Name: name} }
	_, err := admin.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "shop"}}, create)
	must(t, err)
	http := core.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}
	agent := core.ServicePort{Name: "agent", Port: 8081}
	for name, ports := range map[string][]core.ServicePort{"my-app": {http}, "my-app-slot-0": {http, agent}} {
		_, err := admin.CoreV1().Services("shop").Create(ctx, &core.Service{ObjectMeta: named(name), Spec: core.ServiceSpec{Ports: ports}}, create)
		must(t, err)
	}
	port, portName := int32(8080), "http"
	part := &discovery.EndpointSlice{
		ObjectMeta: named("my-app-1"), AddressType: discovery.AddressTypeIPv4,
		Ports:     []discovery.EndpointPort{{Name: &portName, Port: &port}},
		Endpoints: []discovery.Endpoint{{Addresses: []string{"198.18.128.5"}}},
	}
	part.Labels = map[string]string{discovery.LabelServiceName: "my-app"}
	_, err = admin.DiscoveryV1().EndpointSlices("shop").Create(ctx, part, create)
	must(t, err)
	for name, class := range map[string]string{"mine": "secondhop", "other": "nginx"} {
		object := &networking.Ingress{ObjectMeta: named(name), Spec: networking.IngressSpec{
			IngressClassName: &class,
			Rules: []networking.IngressRule{{IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{
				Paths: []networking.HTTPIngressPath{pathTo("/", networking.PathTypePrefix, "my-app", networking.ServiceBackendPort{Name: "http"})},
			}}}},
		}}
		object.Annotations = map[string]string{PolicyAnnotation: "slots"}
		_, err := admin.NetworkingV1().Ingresses("shop").Create(ctx, object, create)
		must(t, err)
	}
}
