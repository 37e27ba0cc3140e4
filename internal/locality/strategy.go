package locality

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Strategy names a way to choose a pod for a request that arrived at a node.
type Strategy string

// The strategies whose expected values are known.
const (
	// Endpoints balances over all ready pods of the cluster, in the ingress.
	Endpoints Strategy = "endpoints"
	// ClusterIP leaves that to kube-proxy; the shares are the same.
	ClusterIP Strategy = "cluster-ip"
	// Slots is the weighted draw over local slots with spill-over.
	Slots Strategy = "slots"
	// InternalLocal is internalTrafficPolicy: Local: own pods or nothing.
	InternalLocal Strategy = "internal-local"
	// SameZone is trafficDistribution: PreferSameZone.
	SameZone Strategy = "same-zone"
	// SameNode is trafficDistribution: PreferSameNode; it falls back to SameZone.
	SameNode Strategy = "same-node"
	// IngressZone is an ingress that keeps to its zone if that has enough pods.
	IngressZone Strategy = "ingress-zone"
	// TopologyAuto is the annotation service.kubernetes.io/topology-mode: Auto.
	TopologyAuto Strategy = "topology-auto"
	// ExternalLocalEven is externalTrafficPolicy: Local behind a balancer that
	// spreads evenly over the nodes that have pods.
	ExternalLocalEven Strategy = "external-local-even"
	// ExternalLocalWeighted is the same with the endpoint-weight header obeyed.
	ExternalLocalWeighted Strategy = "external-local-weighted"
)

// Strategies lists all of them in the order in which reports show them.
func Strategies() []Strategy {
	return []Strategy{Endpoints, ClusterIP, Slots, InternalLocal, SameZone, SameNode,
		IngressZone, TopologyAuto, ExternalLocalEven, ExternalLocalWeighted}
}

// Draw is the geometry of the weighted draw.
type Draw struct {
	// Weight is the width of the band of a slot whose agent answers 100 %.
	Weight float64
	// Range is what is drawn from; it grows when a node's bands are wider.
	Range float64
	// Slots is the number of slots per node.
	Slots int
}

// DefaultDraw is four slots of width 100 in a range of 480: a node with four
// pods keeps 5/6 of its requests.
func DefaultDraw() Draw { return Draw{Weight: 100, Range: 480, Slots: 4} }

// Options are the parameters of the strategies that have any.
type Options struct {
	// Draw is for Slots; the zero value stands for DefaultDraw.
	Draw Draw
	// ZoneMinimum is for IngressZone: a zone with fewer pods is left, 0 stands for 3.
	ZoneMinimum int
}

func (o Options) withDefaults() Options {
	if o.Draw == (Draw{}) {
		o.Draw = DefaultDraw()
	}
	if o.ZoneMinimum == 0 {
		o.ZoneMinimum = 3
	}
	return o
}

func (o Options) validate() error {
	d := o.Draw
	if d.Weight < 0 || d.Range <= 0 || d.Slots < 0 || math.IsNaN(d.Weight+d.Range) {
		return fmt.Errorf("draw of %d slots of width %v in %v: not a draw", d.Slots, d.Weight, d.Range)
	}
	if o.ZoneMinimum < 0 {
		return fmt.Errorf("zone minimum %d: negative", o.ZoneMinimum)
	}
	return nil
}

// Expect is what strategy does with placement p in the long run. It fails on a
// placement or options that make no sense, and on an unknown strategy.
func Expect(strategy Strategy, p Placement, options Options) (Expected, error) {
	options = options.withDefaults()
	if err := p.Validate(); err != nil {
		return Expected{}, err
	}
	if err := options.validate(); err != nil {
		return Expected{}, err
	}
	edge := make([]float64, len(p.Pods))
	for i := range edge {
		edge[i] = p.Share(i)
	}
	switch strategy {
	case Endpoints, ClusterIP:
		return evaluate(p, strategy, edge, func(int) choice { return everywhere(p) }), nil
	case Slots:
		return slots(p, edge, options.Draw), nil
	case InternalLocal:
		return evaluate(p, strategy, edge, func(i int) choice { return onNode(p, i) }), nil
	case SameZone:
		return evaluate(p, strategy, edge, func(i int) choice { return inZone(p, i, 1) }), nil
	case SameNode:
		return evaluate(p, strategy, edge, func(i int) choice {
			if p.Pods[i] > 0 {
				return onNode(p, i)
			}
			return inZone(p, i, 1)
		}), nil
	case IngressZone:
		return evaluate(p, strategy, edge, func(i int) choice { return inZone(p, i, options.ZoneMinimum) }), nil
	case TopologyAuto:
		return topologyAuto(p, edge), nil
	case ExternalLocalEven, ExternalLocalWeighted:
		return externalLocal(p, strategy, edge), nil
	}
	return Expected{}, fmt.Errorf("strategy %q: unknown; there are %s", strategy, names())
}

func names() string {
	var all []string
	for _, s := range Strategies() {
		all = append(all, string(s))
	}
	return strings.Join(all, ", ")
}

func everywhere(p Placement) choice {
	c, _ := even(p, func(int, int) bool { return true })
	return c
}

func onNode(p Placement, i int) choice {
	c, _ := even(p, func(j, _ int) bool { return j == i })
	return c
}

// inZone spreads over the pods in i's zone if there are at least minimum of
// them, else over all.
func inZone(p Placement, i, minimum int) choice {
	count := 0
	for j, k := range p.Pods {
		if p.zone(j) == p.zone(i) {
			count += k
		}
	}
	if count < max(minimum, 1) {
		return everywhere(p)
	}
	c, _ := even(p, func(j, _ int) bool { return p.zone(j) == p.zone(i) })
	return c
}

// externalLocal never forwards: the balancer in front only uses nodes that have
// pods, evenly (in the proportions of its own shares) or by their pod counts.
func externalLocal(p Placement, strategy Strategy, edge []float64) Expected {
	usable := make([]float64, len(edge))
	sum := 0.0
	for i, k := range p.Pods {
		if k == 0 {
			continue
		}
		usable[i] = edge[i]
		if strategy == ExternalLocalWeighted {
			usable[i] = float64(k)
		}
		sum += usable[i]
	}
	if sum == 0 {
		return evaluate(p, strategy, slices.Clone(edge), func(int) choice { return newChoice(p) })
	}
	for i := range usable {
		usable[i] /= sum
	}
	return evaluate(p, strategy, usable, func(i int) choice { return onNode(p, i) })
}
