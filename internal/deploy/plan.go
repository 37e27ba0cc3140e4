package deploy

import (
	"fmt"
	"math"
	"time"

	"secondhop/fixtures/manifests"
	"secondhop/internal/failure"
	"secondhop/internal/kube"
)

func (s AppSpec) validate(workers int) error {
	if err := s.Behaviour.validate(); err != nil {
		return err
	}
	switch s.Kind {
	case "", kube.Deployment, kube.StatefulSet, kube.Job:
	case kube.DaemonSet:
		if s.Replicas != 0 || len(s.Placement) != 0 {
			return failure.Inputf("application %s: a DaemonSet has a pod on every worker, and neither placement nor replicas", s.Name)
		}
		return nil
	default:
		return failure.Inputf("application %s: kind %s: want Deployment, StatefulSet, DaemonSet or Job", s.Name, s.Kind)
	}
	if s.Replicas > 0 && len(s.Placement) > 0 {
		return failure.Inputf("application %s: %d replicas and placement %v: give one of the two", s.Name, s.Replicas, s.Placement)
	}
	if s.Replicas > 0 {
		return nil
	}
	return s.validatePlacement(workers)
}

func (s AppSpec) validatePlacement(workers int) error {
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
	values := manifests.App{
		Namespace: s.Namespace, Name: s.Name, Host: s.Host, Image: image,
		Class: IngressClass, Policy: string(s.Policy), RedispatchOff: s.RedispatchOff, Service: s.Service,
		MaxSurge: s.MaxSurge, MaxUnavailable: s.MaxUnavailable, CPURequest: s.CPURequest,
		PreStopSeconds:     int(s.PreStop / time.Second),
		TerminationSeconds: int(math.Ceil((s.PreStop + s.Grace + stopMargin).Seconds())),
		Env: append([]manifests.EnvVar{
			{Name: "GRACE", Value: s.Grace.String()},
			{Name: "START_DELAY", Value: s.StartDelay.String()},
			{Name: "STOP", Value: string(s.Stop)},
			{Name: "AGENT", Value: string(s.Agent)},
		}, s.Behaviour.env()...),
	}
	if s.Policy.draws() {
		values.Slots = s.Slots
	}
	app := &App{Spec: s, PodsPerNode: map[string]int{}}
	for i, worker := range workers {
		pods := s.podsOn(i)
		app.PodsPerNode[worker] = pods
		if pods > 0 && s.pinned() {
			values.Workloads = append(values.Workloads, manifests.AppWorkload{
				Kind: string(s.Kind), Name: fmt.Sprintf("%s-%d", s.Name, i+1), Node: worker, Replicas: pods,
			})
		}
	}
	if !s.pinned() {
		values.Workloads = []manifests.AppWorkload{{Kind: string(s.Kind), Name: s.Name, Replicas: s.Replicas}}
	}
	for _, workload := range values.Workloads {
		app.Workloads = append(app.Workloads, kube.Workload{Kind: s.Kind, Name: workload.Name})
	}
	return app, values
}

// pinned says that each worker has a workload of its own.
func (s AppSpec) pinned() bool { return s.Kind != kube.DaemonSet && s.Replicas == 0 }

// podsOn is the number of pods that the n-th worker is meant to have, as far as
// that is known.
func (s AppSpec) podsOn(n int) int {
	switch {
	case s.Kind == kube.DaemonSet:
		return 1
	case n < len(s.Placement):
		return s.Placement[n]
	}
	return 0
}
