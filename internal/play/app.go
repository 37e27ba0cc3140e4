package play

import (
	"secondhop/clusters"
	"secondhop/fixtures"
	"secondhop/internal/deploy"
	"secondhop/internal/kube"
)

// appOf is the workload that receives the traffic, as the lab deploys it.
func appOf(in *fixtures.Scenario) deploy.AppSpec {
	w := in.Workloads[0]
	spec := deploy.AppSpec{
		Name: w.Name, Kind: kube.WorkloadKind(w.Kind), Placement: w.Placement, Replicas: w.Replicas,
		StartDelay: w.App.StartDelay, Stop: deploy.StopMode(w.App.OnSIGTERM), Agent: deploy.AgentMode(w.Agent.Mode),
		MaxSurge: w.MaxSurge, MaxUnavailable: w.MaxUnavailable, RedispatchOff: w.Ingress.Redispatch == "off",
		Behaviour: deploy.Behaviour{
			ServeBeforeReady: w.App.ServeBeforeReady, Latency: w.App.Latency, Capacity: w.App.Capacity,
			ColdFor: w.App.ColdFor, ColdTimes: w.App.ColdTimes, PauseEvery: w.App.PauseEvery, PauseFor: w.App.PauseFor,
			KeepAlive: w.App.KeepAlive, PreStop: w.App.PreStop, FailReadiness: w.App.FailReadiness,
		},
	}
	if spec.Grace = w.App.Grace; spec.Grace == 0 {
		spec.Grace = -1 // none, where 0 would be the default
	}
	return spec
}

// SpecOf is the lab that a scenario asks for.
func SpecOf(s *fixtures.Scenario) clusters.Spec {
	spec := clusters.DefaultSpec()
	spec.Workers, spec.Link, spec.ProxyMode = s.Shape.Workers, s.Shape.Link, clusters.ProxyMode(s.Shape.ProxyMode)
	return spec
}
