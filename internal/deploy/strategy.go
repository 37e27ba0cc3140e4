package deploy

import (
	"secondhop/fixtures/manifests"
	"secondhop/internal/locality"
)

// Strategy is a way to choose a pod, and how the lab is set up for it.
type Strategy struct {
	Name, Summary string
	// Model is what it should do with a placement.
	Model locality.Strategy
	// Policy is the edge's.
	Policy  Policy
	Service manifests.ServicePolicy
	// PerRequest opens a connection for each request: kube-proxy chooses a pod for
	// each connection, and what is kept stays with the pod that it got.
	PerRequest bool
	// Direct sends to the nodes' ports of the Service instead of to an ingress.
	Direct bool
	// Weighted has the edge balancer obey the weight that each node's health port gives.
	Weighted bool
	// Agent is what agents say, if the strategy is about that.
	Agent AgentMode
}

// Strategies are all that the lab can set up, in the order of reports.
func Strategies() []Strategy {
	near := func(distribution string) manifests.ServicePolicy {
		return manifests.ServicePolicy{Distribution: distribution}
	}
	proxied := func(name, summary string, model locality.Strategy, service manifests.ServicePolicy) Strategy {
		return Strategy{Name: name, Summary: summary, Model: model, Policy: PolicyClusterIP, Service: service, PerRequest: true}
	}
	external := manifests.ServicePolicy{ExternalLocal: true}
	return []Strategy{
		{Name: "endpoints", Summary: "The ingress balances over all ready pods.", Model: locality.Endpoints, Policy: PolicyEndpoints},
		proxied("cluster-ip", "kube-proxy balances over all ready pods.", locality.ClusterIP, manifests.ServicePolicy{}),
		proxied("internal-local", "internalTrafficPolicy: Local, own pods or nothing.", locality.InternalLocal, manifests.ServicePolicy{InternalLocal: true}),
		proxied("topology-auto", "The annotation topology-mode: Auto.", locality.TopologyAuto, manifests.ServicePolicy{TopologyAuto: true}),
		proxied("prefer-same-zone", "trafficDistribution: PreferSameZone.", locality.SameZone, near("PreferSameZone")),
		proxied("prefer-same-node", "trafficDistribution: PreferSameNode, then the zone.", locality.SameNode, near("PreferSameNode")),
		proxied("prefer-close", "trafficDistribution: PreferClose, the old name of PreferSameZone.", locality.SameZone, near("PreferClose")),
		{Name: "external-local", Summary: "externalTrafficPolicy: Local behind a balancer that is even per node.",
			Model: locality.ExternalLocalEven, Policy: PolicyEndpoints, Service: external, PerRequest: true, Direct: true},
		{Name: "external-local-weighted", Summary: "The same behind a balancer that obeys the endpoint weights.",
			Model: locality.ExternalLocalWeighted, Policy: PolicyEndpoints, Service: external, PerRequest: true, Direct: true, Weighted: true},
		{Name: "ingress-hints", Summary: "The ingress follows the hints of PreferSameZone: node, zone, then all.",
			Model: locality.SameZone, Policy: PolicyHints, Service: near("PreferSameZone")},
		{Name: "ingress-zone", Summary: "The ingress keeps to its zone if that has three pods.", Model: locality.IngressZone, Policy: PolicyZone},
		{Name: "slots", Summary: "The weighted draw over local slots with spill-over.", Model: locality.Slots, Policy: PolicySlots},
		{Name: "slots-published", Summary: "The draw and the agents as first published: no slot ever opens.",
			Model: locality.Endpoints, Policy: PolicyPublished, Agent: AgentWeightOnly},
	}
}

// FindStrategy is the strategy of that name.
func FindStrategy(name string) (Strategy, bool) {
	for _, s := range Strategies() {
		if s.Name == name {
			return s, true
		}
	}
	return Strategy{}, false
}

// Apply makes an application one of this strategy.
func (s Strategy) Apply(app AppSpec) AppSpec {
	app.Policy, app.Service = s.Policy, s.Service
	if s.Agent != "" {
		app.Agent = s.Agent
	}
	return app
}
