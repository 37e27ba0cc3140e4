package deploy

import (
	"fmt"
	"math"
	"time"

	"secondhop/fixtures/manifests"
	"secondhop/internal/failure"
)

// Policy is how the edge chooses a pod.
type Policy string

// The policies that the edge knows.
const (
	PolicySlots     Policy = "slots"      // the draw over node-local slots, then spill-over
	PolicyEndpoints Policy = "endpoints"  // all ready pods alike
	PolicyClusterIP Policy = "cluster-ip" // left to kube-proxy
)

// StopMode is what the application does on SIGTERM.
type StopMode string

// AgentMode is what the application's agent says.
type AgentMode string

// The application's modes; the negative controls use those that are not the default.
const (
	StopGraceful    StopMode  = "graceful"
	StopExit        StopMode  = "exit" // ends at once, cutting what it serves
	AgentNormal     AgentMode = "normal"
	AgentNeverReady AgentMode = "never-ready"
)

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
	Namespace string // "app"
	Name      string // "my-app"
	Host      string // "<name>.example"
	// Placement is the number of pods on each worker, in the order of the cluster's workers;
	// workers beyond its end have none.
	Placement []int
	Policy    Policy // PolicySlots
	Slots     int    // DefaultSlots; used with PolicySlots only

	Grace      time.Duration // DefaultGrace; negative for none
	StartDelay time.Duration
	Stop       StopMode  // StopGraceful
	Agent      AgentMode // AgentNormal

	// MaxSurge and MaxUnavailable are those of every Deployment; both 0 means 1 and 0.
	MaxSurge, MaxUnavailable int
	CPURequest               string // "50m"
	// RedispatchOff makes the edge neither retry nor redispatch (negative control).
	RedispatchOff bool
}

// App is an application that was deployed.
type App struct {
	Spec        AppSpec
	Deployments []string       // one per worker that has pods
	PodsPerNode map[string]int // every worker, those without pods too
}

// Selector selects the application's pods.
func (a *App) Selector() string { return "app=" + a.Spec.Name }

// Pods is the number of pods asked for.
func (a *App) Pods() int {
	total := 0
	for _, k := range a.PodsPerNode {
		total += k
	}
	return total
}

// SlotServices are the names of the application's slot Services, slot 0 first;
// none without slots.
func (a *App) SlotServices() []string {
	if a.Spec.Policy != PolicySlots {
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

func (s AppSpec) validate(workers int) error {
	if len(s.Placement) > workers {
		return failure.Inputf("placement %v names %d workers, the lab has %d", s.Placement, len(s.Placement), workers)
	}
	total := 0
	for _, k := range s.Placement {
		if k < 0 {
			return failure.Inputf("placement %v: a number of pods cannot be negative", s.Placement)
		}
		total += k
	}
	if total == 0 {
		return failure.Inputf("placement %v: the application needs a pod somewhere", s.Placement)
	}
	return nil
}

// plan turns a spec with its defaults filled in into what is applied and what is
// awaited.
func (s AppSpec) plan(workers []string, image string) (*App, manifests.App) {
	app := &App{Spec: s, PodsPerNode: map[string]int{}}
	values := manifests.App{
		Namespace: s.Namespace, Name: s.Name, Host: s.Host, Image: image,
		Class: IngressClass, Policy: string(s.Policy), RedispatchOff: s.RedispatchOff,
		MaxSurge: s.MaxSurge, MaxUnavailable: s.MaxUnavailable, CPURequest: s.CPURequest,
		TerminationSeconds: int(math.Ceil((s.Grace + stopMargin).Seconds())),
		Env: []manifests.EnvVar{
			{Name: "GRACE", Value: s.Grace.String()},
			{Name: "START_DELAY", Value: s.StartDelay.String()},
			{Name: "STOP", Value: string(s.Stop)},
			{Name: "AGENT", Value: string(s.Agent)},
		},
	}
	if s.Policy == PolicySlots {
		values.Slots = s.Slots
	}
	for i, worker := range workers {
		pods := 0
		if i < len(s.Placement) {
			pods = s.Placement[i]
		}
		app.PodsPerNode[worker] = pods
		if pods > 0 {
			name := fmt.Sprintf("%s-%d", s.Name, i+1)
			app.Deployments = append(app.Deployments, name)
			values.Deployments = append(values.Deployments,
				manifests.AppDeployment{Name: name, Node: worker, Replicas: pods})
		}
	}
	return app, values
}
