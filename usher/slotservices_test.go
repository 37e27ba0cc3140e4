package usher

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func appService(ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web", UID: "1", Annotations: map[string]string{"eqtv.io/local-slots": "2"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: ports},
	}
}

func TestSlotPorts(t *testing.T) {
	t.Parallel()
	h2c := "kubernetes.io/h2c"
	for _, tc := range []struct {
		name  string
		ports []corev1.ServicePort
		want  []string
	}{
		{"named", []corev1.ServicePort{{Name: "web", Protocol: "TCP", Port: 80, TargetPort: intstr.FromString("http")}},
			[]string{"web 80>http TCP", "agent 8081>8081 TCP"}},
		{"bare, with a node port", []corev1.ServicePort{{Port: 80, NodePort: 30080}},
			[]string{"http 80>80 TCP", "agent 8081>8081 TCP"}},
		{"two, one with a protocol of the application", []corev1.ServicePort{
			{Name: "a", Port: 1, TargetPort: intstr.FromInt32(2)}, {Name: "b", Port: 3, TargetPort: intstr.FromInt32(4), AppProtocol: &h2c}},
			[]string{"a 1>2 TCP", "b 3>4 TCP kubernetes.io/h2c", "agent 8081>8081 TCP"}},
		{"publishes its agent itself", []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "agent", Port: 9000, TargetPort: intstr.FromInt32(8081)}},
			[]string{"http 80>80 TCP", "agent 9000>8081 TCP"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range DefaultConfig().slotPorts(tc.ports) {
				line := fmt.Sprintf("%s %d>%s %s", p.Name, p.Port, p.TargetPort.String(), p.Protocol)
				if p.AppProtocol != nil {
					line += " " + *p.AppProtocol
				}
				if p.NodePort != 0 {
					line += " node port"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWantServices(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	app := appService(corev1.ServicePort{Name: "http", Port: 80})
	slot := func(n int, change func(*corev1.Service)) *corev1.Service {
		s := config.slotService(app, n, nil)
		s.Spec.ClusterIP = "198.19.0.77"
		if change != nil {
			change(s)
		}
		return s
	}
	for _, tc := range []struct {
		name string
		app  *corev1.Service
		n    int
		have []*corev1.Service
		want string
	}{
		{"none yet", app, 2, nil, "create web-slot-0, create web-slot-1"},
		{"all well", app, 2, []*corev1.Service{slot(0, nil), slot(1, nil)}, ""},
		{"additions of others are theirs", app, 1, []*corev1.Service{slot(0, func(s *corev1.Service) {
			s.Labels["team"] = "x"
			s.Annotations = map[string]string{"note": "y"}
		})}, ""},
		{"edited", app, 2, []*corev1.Service{slot(0, func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = false }), slot(1, func(s *corev1.Service) { s.Labels = nil })},
			"update web-slot-0, update web-slot-1"},
		{"headless cannot be repaired", app, 1, []*corev1.Service{slot(0, func(s *corev1.Service) { s.Spec.ClusterIP = "None" })}, "remove web-slot-0"},
		{"someone else's", app, 1, []*corev1.Service{slot(0, func(s *corev1.Service) { s.OwnerReferences = nil })}, "taken web-slot-0"},
		{"being deleted", app, 1, []*corev1.Service{slot(0, func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{} })}, ""},
		{"beyond the count", app, 1, []*corev1.Service{slot(0, nil), slot(1, nil)}, "remove web-slot-1"},
		{"app is gone", nil, 0, []*corev1.Service{slot(0, nil), slot(1, nil)}, "remove web-slot-0, remove web-slot-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			changes := config.wantServices("web", tc.app, tc.n, tc.have)
			var got []string
			for verb, services := range map[string][]*corev1.Service{"create": changes.create, "update": changes.update, "remove": changes.remove} {
				for _, s := range services {
					got = append(got, verb+" "+s.Name)
				}
			}
			for _, name := range changes.taken {
				got = append(got, "taken "+name)
			}
			slices.Sort(got)
			if joined := strings.Join(got, ", "); joined != tc.want {
				t.Errorf("changes = %q, want %q", joined, tc.want)
			}
		})
	}
}

func TestAppOf(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"4": 4, "1": 1, "": 4, "0": -1, "65": -1, "four": -1, " 4": -1} {
		service := appService()
		service.Annotations["eqtv.io/local-slots"] = value
		app := DefaultConfig().AppOf(service)
		if got := app.Slots; want > 0 && (got != want || app.Invalid != nil) || want < 0 && app.Invalid == nil {
			t.Errorf("annotation %q: %d slots, invalid %v; want %d", value, got, app.Invalid, want)
		}
	}
	bare := appService()
	bare.Spec.Selector = nil
	if app := DefaultConfig().AppOf(bare); app.Invalid == nil || app.selects(Pod{}) {
		t.Error("an app without a selector must be invalid and select nothing")
	}
}

func TestAppOfSlotName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"web-slot-0": "web", "a-slot-1-slot-2": "a-slot-1", "web": "", "web-slot-": "", "web-slot-x": "", "-slot-1": "",
	} {
		if got, ok := appOfSlotName(name); ok != (want != "") || ok && got != want {
			t.Errorf("appOfSlotName(%q) = %q, %t; want %q", name, got, ok, want)
		}
	}
}

func TestExpectedShare(t *testing.T) {
	t.Parallel()
	nodes := []string{"n1", "n2", "n3", "n4"}
	for _, tc := range []struct {
		name  string
		ready []int
		nodes []string
		want  float64
	}{
		{"full", []int{4, 4, 4, 4}, nodes, 400. / 480},
		{"one poor node", []int{4, 4, 4, 1}, nodes, 1300. / 480 / 4},
		{"a node without", []int{2, 2, 0, 1}, nodes, 500. / 480 / 4},
		{"more pods than slots", []int{9, 0, 0, 0}, nodes, 400. / 480 / 4},
		{"no ingress", []int{4}, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ready := map[string]int{}
			for i, n := range tc.ready {
				ready[nodes[i]] = n
			}
			if got := DefaultConfig().ExpectedShare(4, ready, tc.nodes); math.Abs(got-tc.want) > 1e-12 {
				t.Errorf("share = %v, want %v", got, tc.want)
			}
		})
	}
	heavy := DefaultConfig()
	heavy.Weight = 150 // four of them are more than the range, which then is their sum
	if got := heavy.ExpectedShare(4, map[string]int{"n1": 4}, nodes[:1]); got != 1 {
		t.Errorf("share = %v with four slots of 150, want 1", got)
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for flag, damage := range map[string]func(*Config){
		"--label-domain":  func(c *Config) { c.Domain = "Not A Domain" },
		"--default-slots": func(c *Config) { c.DefaultSlots = 0 },
		"--agent-port":    func(c *Config) { c.AgentPort = 70000 },
		"--draw-range":    func(c *Config) { c.Range = 0 },
	} {
		c := DefaultConfig()
		damage(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("error = %v, want it to name %s", err, flag)
		}
	}
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}
