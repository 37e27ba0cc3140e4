package runner

import (
	"fmt"
	"time"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/observe"
	"secondhop/internal/report"
	"secondhop/internal/trial"
	"secondhop/internal/units"
)

// Pair is one load against the baseline and against slots.
type Pair struct{ Baseline, Slots *Outcome }

// headBytes is the HTTP head of an answer of the demo application with what
// the edge adds, within a few bytes.
const headBytes = 330

// cutTolerance is by how much a cut may differ from the formula: 2 points.
const cutTolerance = 0.02

// splitTolerance is by how much the classes of inbound bytes may miss the whole.
const splitTolerance = 0.01

// expected is what both runs of the pair should have done.
func (p Pair) expected() (baseline, slots locality.Expected, err error) {
	if baseline, err = p.Baseline.Expect(locality.Endpoints); err != nil {
		return baseline, slots, err
	}
	slots, err = p.Slots.Expect(locality.Slots)
	return baseline, slots, err
}

// routed is the flows that really were: from which node each request was served.
// The formula is about bytes of given flows; whether the flows are right is what
// the tests of shares say, with far more requests.
func (o *Outcome) routed() locality.Expected {
	tally := o.All()
	flows := locality.Expected{Edge: tally.EdgeShares(o.Nodes)}
	for _, from := range o.Nodes {
		row := make([]float64, len(o.Nodes))
		if ingress := tally.Nodes[from]; ingress != nil {
			for j, to := range o.Nodes {
				row[j] = float64(ingress.ByPodNode[to]) / float64(ingress.Answered)
			}
		}
		flows.Route = append(flows.Route, row)
	}
	return flows
}

// inbound is what came into a node by class, in bytes on the wire for each request
// of the whole load. The cluster's own traffic counts as background.
func (o *Outcome) inbound(node string) locality.NodeBytes {
	split := o.Observed.Split[node]
	perRequest := func(c observe.Class) float64 {
		return locality.EthernetWire().FromCounter(float64(c.Bytes), float64(c.Packets)) / float64(o.Summary.Requests)
	}
	return locality.NodeBytes{
		HopOneIn:         perRequest(split.HopOneRequests),
		HopTwoRequestsIn: perRequest(split.HopTwoRequests),
		HopTwoAnswersIn:  perRequest(split.HopTwoAnswers),
		BackgroundIn:     o.busyBackground(node)/float64(o.Summary.Requests) + perRequest(split.Rest),
	}
}

// inPerRequest is a node's inbound bytes for each request of the whole load.
func (o *Outcome) inPerRequest(node string) float64 { return o.bytes(node).InPerRequest() }

// bytes is what a node's link carried because of the load. Background begins before
// the first request and ends after the last; what came then is taken off.
func (o *Outcome) bytes(node string) measure.Traffic {
	link := o.Observed.Links[node]
	return measure.Traffic{
		In:       float64(link.In.Bytes) - o.idleBackground(node),
		Out:      float64(link.Out.Bytes),
		Requests: int64(o.Summary.Requests),
	}
}

// idleBackground is the background that a node received while there was no load,
// in bytes on the wire: all that was counted but the sender's exact rate for as
// long as there was load.
func (o *Outcome) idleBackground(node string) float64 {
	counted := o.Observed.Split[node].Background
	wire := locality.EthernetWire()
	return wire.FromCounter(float64(counted.Bytes), float64(counted.Packets)) - o.busyBackground(node)
}

// busyBackground is the background that was sent to a node while there was load.
func (o *Outcome) busyBackground(node string) float64 {
	wire := locality.EthernetWire()
	return float64(o.Spec.Load.Background[node].BytesIn(o.Summary.Elapsed)) * (wire.Segment + wire.Header) / wire.Segment
}

// meanIn is the mean of all nodes.
func (o *Outcome) meanIn() float64 {
	var sum float64
	for _, node := range o.Nodes {
		sum += o.inPerRequest(node)
	}
	return sum / float64(len(o.Nodes))
}

// predictedCuts are the parts by which inbound bytes should fall, per node and of
// the mean: hop two shrinks with what is no longer served elsewhere, hop one and the
// background stay as they were.
func (p Pair) predictedCuts() (nodes []float64, mean float64) {
	before, after := p.Baseline.routed(), p.Slots.routed()
	var sumBefore, sumAfter float64
	for i, node := range p.Baseline.Nodes {
		observed := p.Baseline.inbound(node)
		predicted := locality.Scale(observed, i, before, after)
		nodes = append(nodes, measure.CutOf(observed.In(), predicted.In()))
		sumBefore, sumAfter = sumBefore+observed.In(), sumAfter+predicted.In()
	}
	return nodes, measure.CutOf(sumBefore, sumAfter)
}

// CutEqualsFormula is that the inbound bytes of every node, and their mean, fall
// by what the formula says, and that the classes of bytes add up.
func (l *Lab) CutEqualsFormula(p Pair) []measure.Assertion {
	nodes, mean := p.predictedCuts()
	assertions := p.sound()
	for i, node := range p.Baseline.Nodes {
		assertions = append(assertions, measure.Cut("inbound-cut", node,
			p.Baseline.inPerRequest(node), p.Slots.inPerRequest(node), nodes[i], cutTolerance))
	}
	return append(assertions, measure.Cut("inbound-cut", "mean of all nodes", p.Baseline.meanIn(), p.Slots.meanIn(), mean, cutTolerance))
}

// sound is what both runs of a pair need before their bytes mean anything.
func (p Pair) sound() []measure.Assertion {
	var assertions []measure.Assertion
	for _, o := range []*Outcome{p.Baseline, p.Slots} {
		assertions = append(assertions,
			measure.Generator("generator", o.Spec.Name, o.Summary),
			o.All().Drops("drops", o.Spec.Name))
		assertions = append(assertions, o.partsAddUp()...)
	}
	return assertions
}

// partsAddUp is that the classes that nftables tells apart make up what the link's
// own counter saw: two counters in different places of the kernel.
func (o *Outcome) partsAddUp() []measure.Assertion {
	wire := locality.EthernetWire()
	var assertions []measure.Assertion
	for _, node := range o.Nodes {
		s := o.Observed.Split[node]
		var parts []float64
		for _, class := range []observe.Class{s.HopOneRequests, s.HopTwoRequests, s.HopTwoAnswers, s.Background, s.Rest} {
			parts = append(parts, wire.FromCounter(float64(class.Bytes), float64(class.Packets)))
		}
		assertions = append(assertions, measure.Parts("inbound-split", node+", "+o.Spec.Name,
			float64(o.Observed.Links[node].In.Bytes), splitTolerance, parts...))
	}
	return assertions
}

// BottleneckLoad is the load at which every node's link is used inbound to the
// given part and hop two is the given share of all inbound bytes. With hop two
// costing h2 bytes per request on all links together, the rate is
// share x used / h2; background fills up what is missing on each node.
func (l *Lab) BottleneckLoad(app *deploy.App, answer units.Bytes, link units.BitRate, used, share float64) (trial.Load, error) {
	placement := locality.Placement{}
	for _, worker := range l.Cluster.Workers() {
		placement.Pods = append(placement.Pods, app.PodsPerNode[worker.Name])
	}
	expected, err := locality.Expect(locality.Endpoints, placement, locality.Options{})
	if err != nil {
		return trial.Load{}, err
	}
	const requestBytes = 100
	wire := locality.EthernetWire()
	nodes := locality.Bytes(expected, locality.SameOnBothHops(requestBytes, float64(answer)+headBytes), wire)
	perNode := used * float64(link.BytesIn(time.Second))
	rate := share * perNode * float64(len(nodes)) / locality.Sum(nodes).HopTwoIn()
	load := trial.Load{Rate: rate, Answer: answer, Background: map[string]units.BitRate{}}
	for i, worker := range l.Cluster.Workers() {
		missing := perNode - rate*nodes[i].In()
		if missing < 0 {
			return trial.Load{}, fmt.Errorf("hop two cannot be only %.0f %% of what %s receives: its requests alone are more", 100*share, worker.Name)
		}
		// The sender is told the rate of data, which is 1448 of 1514 bytes on the wire.
		load.Background[worker.Name] = units.RateOf(units.Bytes(missing*wire.Segment/(wire.Segment+wire.Header)), time.Second)
	}
	return load, nil
}

// FreeCapacityGrows is the case in which inbound is the bottleneck: links used to
// the given part, hop two about a third of it. The cut is smaller then, and the
// capacity that becomes free is worth more.
func (l *Lab) FreeCapacityGrows(p Pair, link units.BitRate, used float64) []measure.Assertion {
	_, mean := p.predictedCuts()
	share := p.Baseline.hopTwoShare()
	before, after := p.Baseline.utilisation(link), p.Slots.utilisation(link)
	return append(p.sound(),
		measure.Within("hop-two-share", "of inbound bytes, all nodes", "share", share, 0.32, 0.31, 0.33),
		measure.Within("utilisation", "inbound, all nodes, baseline", "share", before, used, used-0.02, used+0.02),
		measure.Cut("inbound-cut", "mean of all nodes", p.Baseline.meanIn(), p.Slots.meanIn(), mean, cutTolerance),
		measure.Growth("free-capacity", "growth, mean of all nodes", before, after, mean, cutTolerance),
	)
}

// hopTwoShare is the part of all inbound bytes that hop two causes while there is
// load.
func (o *Outcome) hopTwoShare() float64 {
	var all []locality.NodeBytes
	for _, node := range o.Nodes {
		all = append(all, o.inbound(node))
	}
	return locality.Sum(all).HopTwoShare()
}

// utilisation is the used part of all links together, inbound, while there was load.
func (o *Outcome) utilisation(link units.BitRate) float64 {
	var used units.Bytes
	for _, node := range o.Nodes {
		used += units.Bytes(o.bytes(node).In)
	}
	return float64(units.RateOf(used, o.Summary.Elapsed)) / float64(link) / float64(len(o.Nodes))
}

// overloaded is the response time beyond which nobody would call a system up.
const overloaded = time.Second

// SlotsCarryWhatDropped is that one offered load overloads the links of the
// baseline, which drops, and is carried by slots without a single failure.
func (l *Lab) SlotsCarryWhatDropped(p Pair) []measure.Assertion {
	baseline, slots := p.Baseline.All(), p.Slots.All()
	var dropped float64
	for _, node := range p.Baseline.Nodes {
		link := p.Baseline.Observed.Links[node]
		dropped += float64(link.In.Drops) + float64(link.Out.Drops)
	}
	return []measure.Assertion{
		measure.AtLeast("overload", "frames dropped by the links, baseline", "count", dropped, 1),
		measure.AtLeast("overload", "requests failed, baseline", "requests", float64(baseline.Failed), 1),
		measure.AtLeast("overload", "p99 of response times, baseline", "seconds", baseline.Response().Quantile(0.99).Seconds(), overloaded.Seconds()),
		measure.Generator("generator", p.Slots.Spec.Name, p.Slots.Summary),
		slots.Drops("drops", p.Slots.Spec.Name),
	}
}

// CutRows adds both runs of a pair to the table of results.
func (l *Lab) CutRows(group string, p Pair) error {
	baseline, slots, err := p.expected()
	if err != nil {
		return err
	}
	nodes, mean := p.predictedCuts()
	rows := []report.Row{p.Baseline.row(group, baseline, p.Baseline.All()), p.Slots.row(group, slots, p.Slots.All())}
	for i, o := range []*Outcome{p.Baseline, p.Slots} {
		var traffic []measure.Traffic
		for _, node := range o.Nodes {
			traffic = append(traffic, o.bytes(node))
		}
		rows[i].AddBytes(traffic, nil)
	}
	rows[1].AddCut(rows[0], nodes, mean)
	for _, row := range rows {
		if err := l.Results.Row(row); err != nil {
			return err
		}
	}
	return nil
}
