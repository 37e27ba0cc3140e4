package usher

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func testNumbers(p *playground, r *rig) {
	audit := p.audit()
	p.app("web", 3)
	for i := range 5 {
		p.create("web", fmt.Sprintf("pod-%d", i), "n1")
	}
	p.create("web", "alone", "n2")
	r.usher(p, "first", DefaultConfig(), good)
	p.untilNumbers(map[string]string{"pod-0": "0", "pod-1": "1", "pod-2": "2", "pod-3": "", "pod-4": "", "alone": "0"})

	p.terminate("pod-1")
	p.create("web", "other", "n2") // its number proves that usher has worked on
	p.untilNumbers(map[string]string{"pod-0": "0", "pod-1": "1", "pod-2": "2", "pod-3": "", "pod-4": "", "alone": "0", "other": "1"})
	begun := time.Now()
	p.finish("pod-1")
	p.untilNumbers(map[string]string{"pod-0": "0", "pod-2": "2", "pod-3": "1", "pod-4": "", "alone": "0", "other": "1"})
	p.Logf("a freed number was given away within %s", time.Since(begun).Round(time.Millisecond))
	audit.clean(p)
}

func testLosers(p *playground, r *rig) {
	audit := p.audit()
	p.app("web", 2)
	for _, name := range []string{"a", "b", "c", "d"} {
		p.create("web", name, "n1")
	}
	r.usher(p, "first", DefaultConfig(), good)
	p.untilNumbers(map[string]string{"a": "0", "b": "1", "c": "", "d": ""})
	p.patchStatus("a", `{"status":{"phase":"Failed","reason":"Evicted"}}`)
	p.untilNumbers(map[string]string{"a": "", "b": "1", "c": "0", "d": ""})
	p.patch("b", `{"metadata":{"labels":{"app":"debugged"}}}`)
	p.untilNumbers(map[string]string{"a": "", "b": "", "c": "0", "d": "1"})
	audit.clean(p)
}

func testCount(p *playground, r *rig) {
	p.app("web", 3)
	for _, name := range []string{"a", "b", "c"} {
		p.create("web", name, "n1")
	}
	r.usher(p, "first", DefaultConfig(), good)
	p.untilNumbers(map[string]string{"a": "0", "b": "1", "c": "2"})
	p.untilSlotServices("web", 3)
	p.annotate("web", "2")
	p.untilNumbers(map[string]string{"a": "0", "b": "1", "c": ""})
	p.untilSlotServices("web", 2)
	p.annotate("web", "two") // a typing error takes nothing away
	p.annotate("web", "4")
	p.untilNumbers(map[string]string{"a": "0", "b": "1", "c": "2"})
	p.untilSlotServices("web", 4)
	p.annotate("web", "-")
	p.untilNumbers(map[string]string{"a": "", "b": "", "c": ""})
	p.untilSlotServices("web", 0)
}

func testSlotServices(p *playground, r *rig) {
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: SlotServiceName("web", 1)},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}, Selector: map[string]string{"app": "foreign"}},
	}
	_, err := p.client.CoreV1().Services(p.namespace).Create(p.Context(), foreign, metav1.CreateOptions{})
	p.must(err)
	p.app("web", 2)
	r.usher(p, "first", DefaultConfig(), good)
	p.untilSlotServices("web", 1)
	p.isSlotService("web", 0)

	for _, damage := range []string{
		`{"spec":{"selector":{"app":"another"}}}`,
		`{"spec":{"internalTrafficPolicy":"Cluster","publishNotReadyAddresses":false}}`,
		`{"spec":{"type":"NodePort","ports":[{"port":80,"name":"http"}]}}`,
		`{"metadata":{"labels":null}}`,
	} {
		p.patchService(SlotServiceName("web", 0), damage)
		p.isSlotService("web", 0)
	}
	p.must(p.client.CoreV1().Services(p.namespace).Delete(p.Context(), SlotServiceName("web", 0), metav1.DeleteOptions{}))
	p.isSlotService("web", 0)

	// Selector and ports follow the app.
	p.patchService("web", `{"spec":{"selector":{"tier":"front"},"ports":[{"name":"http","port":80,"targetPort":9090}]}}`)
	p.until("the slot service to follow", func(ctx context.Context) error {
		got, err := p.slotServices(ctx, "web")
		if err == nil && (got[SlotServiceName("web", 0)].Spec.Selector["tier"] != "front" ||
			got[SlotServiceName("web", 0)].Spec.Ports[0].TargetPort != intstr.FromInt32(9090)) {
			err = fmt.Errorf("it is %v", got[SlotServiceName("web", 0)].Spec)
		}
		return err
	})
	still, err := p.client.CoreV1().Services(p.namespace).Get(p.Context(), foreign.Name, metav1.GetOptions{})
	p.must(err)
	if still.Spec.Selector["app"] != "foreign" || len(still.OwnerReferences) > 0 {
		p.Errorf("a Service of others was changed: %v", still.Spec)
	}
	// When the foreign one goes, the slot Service takes its place; when the app
	// goes, both go, though there is no garbage collector here.
	p.must(p.client.CoreV1().Services(p.namespace).Delete(p.Context(), foreign.Name, metav1.DeleteOptions{}))
	p.untilSlotServices("web", 2)
	p.must(p.client.CoreV1().Services(p.namespace).Delete(p.Context(), "web", metav1.DeleteOptions{}))
	p.untilSlotServices("web", 0)
}

// isSlotService waits until a slot Service is all that it should be.
func (p *playground) isSlotService(app string, n int) {
	p.Helper()
	local := corev1.ServiceInternalTrafficPolicyLocal
	owner, err := p.client.CoreV1().Services(p.namespace).Get(p.Context(), app, metav1.GetOptions{})
	p.must(err)
	controller := true
	want := corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{"eqtv.io/local-slots-of": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: app, UID: owner.UID, Controller: &controller}},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": app, "eqtv.io/local-slot": fmt.Sprint(n)},
			InternalTrafficPolicy: &local, PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: "TCP", Port: 80, TargetPort: intstr.FromInt32(8080)},
				{Name: "agent", Protocol: "TCP", Port: 8081, TargetPort: intstr.FromInt32(8081)},
			},
		},
	}
	p.until("slot service "+SlotServiceName(app, n), func(ctx context.Context) error {
		got, err := p.client.CoreV1().Services(p.namespace).Get(ctx, SlotServiceName(app, n), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got.Spec.ClusterIP == "" {
			return fmt.Errorf("it has no address")
		}
		stripped := corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Labels: got.Labels, OwnerReferences: got.OwnerReferences},
			Spec: corev1.ServiceSpec{
				Type: got.Spec.Type, Selector: got.Spec.Selector, InternalTrafficPolicy: got.Spec.InternalTrafficPolicy,
				PublishNotReadyAddresses: got.Spec.PublishNotReadyAddresses, Ports: got.Spec.Ports,
			},
		}
		if diff := cmp.Diff(want, stripped); diff != "" {
			return fmt.Errorf("it differs (-want +got):\n%s", diff)
		}
		return nil
	})
}

func testByHand(p *playground, r *rig) {
	p.app("web", 3)
	for _, name := range []string{"a", "b", "c"} {
		p.create("web", name, "n1")
	}
	r.usher(p, "first", DefaultConfig(), good)
	p.untilNumbers(map[string]string{"a": "0", "b": "1", "c": "2"})
	for _, value := range []string{`"0"`, `"9"`, `"x"`, `""`, `null`} {
		p.patch("c", fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, DefaultConfig().SlotLabel(), value))
		p.untilNumbers(map[string]string{"a": "0", "b": "1", "c": "2"})
	}
}

func testMetrics(p *playground, r *rig) {
	for _, node := range []string{"m1", "m2"} {
		_, err := p.client.CoreV1().Nodes().Create(p.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
		p.must(err)
	}
	p.app("web", 2)
	u := r.usher(p, "first", DefaultConfig(), good)
	u.untilLeading(p)
	// In the order of their names, which decides between pods of one second.
	for _, pod := range []string{"a", "b", "c"} {
		p.create("web", pod, "m1")
		p.ready(pod)
	}
	p.create("web", "x-starting", "m2")
	p.create("web", "y-leaving", "m2")
	p.ready("y-leaving")
	p.untilNumbers(map[string]string{"a": "0", "b": "1", "c": "", "x-starting": "0", "y-leaving": "1"})
	p.terminate("y-leaving")
	registry := prometheus.NewRegistry()
	registry.MustRegister(u.Metrics())
	want := map[string]float64{
		"usher_leader":                        1,
		"usher_slots_assigned":                4,
		"usher_slots_configured":              2,
		"usher_expected_slot_share":           (200./480 + 0) / 2, // m2 has no ready pod that stays
		"usher_scheduled_to_labelled_seconds": 4,                  // c had to wait for a number, and does
	}
	p.until("metrics", func(context.Context) error {
		got, err := gather(registry, p.namespace)
		if err != nil {
			return err
		}
		for name, value := range want {
			if got[name] != value {
				return fmt.Errorf("%s = %v, want %v", name, got[name], value)
			}
		}
		return nil
	})
	u.stop()
	got, err := gather(registry, p.namespace)
	p.must(err)
	if value, ok := got["usher_leader"]; !ok || value != 0 {
		p.Errorf("usher_leader = %v (there: %t) after the end, want 0", value, ok)
	}
	if _, ok := got["usher_expected_slot_share"]; ok {
		p.Error("an usher that does not lead still has figures about apps")
	}
}

// gather is the metrics of one namespace and those of none; a histogram is its count.
func gather(registry *prometheus.Registry, namespace string) (map[string]float64, error) {
	families, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			ours := true
			for _, label := range m.Label {
				ours = ours && (label.GetName() != "namespace" || label.GetValue() == namespace)
			}
			switch {
			case !ours:
			case m.Histogram != nil:
				values[family.GetName()] = float64(m.Histogram.GetSampleCount())
			case m.Gauge != nil:
				values[family.GetName()] = m.Gauge.GetValue()
			}
		}
	}
	return values, nil
}
