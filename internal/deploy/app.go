package deploy

import (
	"fmt"
	"slices"
	"time"

	"secondhop/fixtures/manifests"
	"secondhop/internal/kube"
)

// Policy is how the edge chooses a pod.
type Policy string

// The policies that the edge knows.
const (
	PolicySlots     Policy = "slots"      // the draw over node-local slots, then spill-over
	PolicyEndpoints Policy = "endpoints"  // all ready pods alike
	PolicyClusterIP Policy = "cluster-ip" // left to kube-proxy
	PolicyHints     Policy = "hints"      // the hints of the control plane: node, then zone, then all
	PolicyZone      Policy = "zone"       // the ingress's zone if it has enough pods, else all
	PolicyPublished Policy = "slots-published"
)

// draws says that the policy needs slots.
func (p Policy) draws() bool { return p == PolicySlots || p == PolicyPublished }

// DefaultSlots is the number of slots of an application.
const DefaultSlots = 4

// DefaultGrace is how long a stopping application goes on serving: five polls of
// its agent and a second to spare.
const DefaultGrace = 6 * time.Second

// stopMargin is what an application gets between the end of its grace and
// SIGKILL: its own limit for requests under way (10 s), and 5 s for a busy machine.
const stopMargin = 15 * time.Second

// AppSpec describes one deployment of the application. Zero fields take the
// defaults named at each.
type AppSpec struct {
	Namespace string            // "app"
	Name      string            // "my-app"
	Host      string            // "<name>.example"
	Kind      kube.WorkloadKind // Deployment
	// Placement is the number of pods on each worker, in the order of the cluster's workers;
	// workers beyond its end have none. Each worker has a workload of its own.
	Placement []int
	// Replicas, instead of a placement, is the number of pods of one workload that the
	// scheduler puts where it likes. A DaemonSet needs neither: it has a pod on every worker.
	Replicas int
	Policy   Policy // PolicySlots
	// Service is how kube-proxy spreads what is sent to the application's Service.
	Service manifests.ServicePolicy
	Slots   int // DefaultSlots; used with PolicySlots only

	Grace      time.Duration // DefaultGrace; negative for none
	StartDelay time.Duration
	Stop       StopMode  // StopGraceful
	Agent      AgentMode // AgentNormal
	Behaviour

	// MaxSurge and MaxUnavailable are those of every workload; both 0 means 1 and 0.
	// A StatefulSet replaces one pod at a time, whatever they are.
	MaxSurge, MaxUnavailable int
	CPURequest               string // "50m"
	// RedispatchOff makes the edge neither retry nor redispatch (negative control).
	RedispatchOff bool
}

// App is an application that was deployed.
type App struct {
	Spec      AppSpec
	Workloads []kube.Workload // one per worker that has pods, or one for all
	// PodsPerNode has every worker, those without pods too. Where the scheduler
	// chooses, WaitSteady fills it in.
	PodsPerNode map[string]int
}

// Has says that a workload is one of the application's.
func (a *App) Has(workload kube.Workload) bool { return slices.Contains(a.Workloads, workload) }

// Selector selects the application's pods.
func (a *App) Selector() string { return "app=" + a.Spec.Name }

// Pods is the number of pods asked for.
func (a *App) Pods() int {
	if a.scheduled() {
		return a.Spec.Replicas
	}
	total := 0
	for _, k := range a.PodsPerNode {
		total += k
	}
	return total
}

// scheduled says that the scheduler chooses where pods run.
func (a *App) scheduled() bool { return a.Spec.Replicas > 0 }

// SlotServices are the names of the application's slot Services, slot 0 first;
// none without slots.
func (a *App) SlotServices() []string {
	if !a.Spec.Policy.draws() {
		return nil
	}
	names := make([]string, a.Spec.Slots)
	for n := range names {
		names[n] = fmt.Sprintf("%s-slot-%d", a.Spec.Name, n)
	}
	return names
}

// Backend is the name of the application's backend on port 80 of every edge.
func (a *App) Backend() string {
	name := fmt.Sprintf("%s.%s.80.%s", a.Spec.Namespace, a.Spec.Name, a.Spec.Policy)
	if a.Spec.RedispatchOff {
		name += ".noredispatch"
	}
	return name
}

// OwnerBackend is the name of the backend that holds and checks the regular
// servers, all ready pods; port 81 uses it.
func (a *App) OwnerBackend() string {
	return fmt.Sprintf("%s.%s.80.plain", a.Spec.Namespace, a.Spec.Name)
}

// PlainBackend is the name of the application's backend on port 81.
func (a *App) PlainBackend() string {
	if a.Spec.RedispatchOff {
		return a.OwnerBackend() + ".noredispatch"
	}
	return a.OwnerBackend()
}

func (s AppSpec) withDefaults() AppSpec {
	defaultTo(&s.Namespace, "app")
	defaultTo(&s.Name, "my-app")
	defaultTo(&s.Host, s.Name+".example")
	defaultTo(&s.Kind, kube.Deployment)
	defaultTo(&s.Policy, PolicySlots)
	defaultTo(&s.Slots, DefaultSlots)
	defaultTo(&s.Grace, DefaultGrace)
	defaultTo(&s.Stop, StopGraceful)
	defaultTo(&s.Agent, AgentNormal)
	defaultTo(&s.CPURequest, "50m")
	if s.MaxSurge == 0 && s.MaxUnavailable == 0 {
		s.MaxSurge = 1
	}
	s.Grace = max(s.Grace, 0)
	return s
}

func defaultTo[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}
