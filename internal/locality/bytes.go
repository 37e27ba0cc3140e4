package locality

import (
	"math"

	"secondhop/internal/units"
)

// Exchange is one request and its answer, each with its HTTP head, in bytes.
type Exchange struct {
	Request, Answer float64
}

// Traffic is what one request costs on each hop. They differ by the headers that
// the ingress adds.
type Traffic struct {
	HopOne, HopTwo Exchange
}

// SameOnBothHops is traffic whose messages do not change at the ingress.
func SameOnBothHops(request, answer float64) Traffic {
	x := Exchange{Request: request, Answer: answer}
	return Traffic{HopOne: x, HopTwo: x}
}

// NodeBytes is what crosses the link of one node, in bytes per request of the
// whole load (not of the node's own).
type NodeBytes struct {
	// HopOneIn is requests from clients, with acknowledgements of their answers.
	HopOneIn float64
	// HopTwoRequestsIn is requests from other ingresses to pods of this node.
	HopTwoRequestsIn float64
	// HopTwoAnswersIn is answers from other nodes' pods to this node's ingress.
	HopTwoAnswersIn float64
	// BackgroundIn is whatever else arrives.
	BackgroundIn float64
	// HopOneOut is answers to clients.
	HopOneOut float64
	// HopTwoRequestsOut is requests of this node's ingress to other nodes.
	HopTwoRequestsOut float64
	// HopTwoAnswersOut is answers of this node's pods to other ingresses.
	HopTwoAnswersOut float64
}

// HopTwoIn is the inbound bytes that would not exist if all requests stayed local.
func (n NodeBytes) HopTwoIn() float64 { return n.HopTwoRequestsIn + n.HopTwoAnswersIn }

// In is all inbound bytes.
func (n NodeBytes) In() float64 { return n.HopOneIn + n.HopTwoIn() + n.BackgroundIn }

// Out is all outbound bytes.
func (n NodeBytes) Out() float64 { return n.HopOneOut + n.HopTwoRequestsOut + n.HopTwoAnswersOut }

// HopTwoShare is the part of the inbound bytes that hop two causes.
func (n NodeBytes) HopTwoShare() float64 {
	if n.In() == 0 {
		return 0
	}
	return n.HopTwoIn() / n.In()
}

// BackgroundFor is the inbound background, in bytes per request of the whole
// load, at which hop two is the share h of all inbound bytes; 0 if hop two is a
// smaller part even without.
func (n NodeBytes) BackgroundFor(h float64) float64 {
	if h <= 0 || h > 1 {
		return 0
	}
	return math.Max(0, n.HopTwoIn()*(1/h-1)-n.HopOneIn)
}

// Bytes is the traffic on every node's link under the strategy that e describes:
// node i receives q for each of its own requests, r for each of those that
// another node answers, and q for each request that it answers for another.
// Locally answered requests cross no link on hop two.
func Bytes(e Expected, t Traffic, w Wire) []NodeBytes {
	requestIn := w.Carry(t.HopOne.Request) + w.acks(t.HopOne.Answer)
	answerOut := w.Carry(t.HopOne.Answer) + w.requestAcks(t.HopOne.Request)
	requestOn := w.Carry(t.HopTwo.Request) + w.acks(t.HopTwo.Answer)
	answerBack := w.Carry(t.HopTwo.Answer) + w.requestAcks(t.HopTwo.Request)
	nodes := make([]NodeBytes, len(e.Edge))
	for i := range nodes {
		served, remote, foreign := 0.0, 0.0, 0.0
		for j := range nodes {
			served += e.Edge[i] * e.Route[i][j]
			if j != i {
				remote += e.Edge[i] * e.Route[i][j]
				foreign += e.Edge[j] * e.Route[j][i]
			}
		}
		nodes[i] = NodeBytes{
			HopOneIn:          e.Edge[i] * requestIn,
			HopTwoRequestsIn:  foreign * requestOn,
			HopTwoAnswersIn:   remote * answerBack,
			HopOneOut:         served * answerOut,
			HopTwoRequestsOut: remote * requestOn,
			HopTwoAnswersOut:  foreign * answerBack,
		}
	}
	return nodes
}

// Sum adds up nodes: the bytes on all links together, per request.
func Sum(nodes []NodeBytes) NodeBytes {
	var sum NodeBytes
	for _, n := range nodes {
		sum.HopOneIn += n.HopOneIn
		sum.HopTwoRequestsIn += n.HopTwoRequestsIn
		sum.HopTwoAnswersIn += n.HopTwoAnswersIn
		sum.BackgroundIn += n.BackgroundIn
		sum.HopOneOut += n.HopOneOut
		sum.HopTwoRequestsOut += n.HopTwoRequestsOut
		sum.HopTwoAnswersOut += n.HopTwoAnswersOut
	}
	return sum
}

// Scale predicts a node's traffic under after from what was observed under
// before: every part changes as the flow that causes it does, and background
// and hop one stay. It needs no knowledge of message sizes or headers.
func Scale(observed NodeBytes, node int, before, after Expected) NodeBytes {
	remoteBefore, foreignBefore := flows(before, node)
	remoteAfter, foreignAfter := flows(after, node)
	predicted := observed
	predicted.HopTwoAnswersIn *= ratio(remoteAfter, remoteBefore)
	predicted.HopTwoRequestsOut *= ratio(remoteAfter, remoteBefore)
	predicted.HopTwoRequestsIn *= ratio(foreignAfter, foreignBefore)
	predicted.HopTwoAnswersOut *= ratio(foreignAfter, foreignBefore)
	return predicted
}

// flows is node i's requests answered elsewhere, and others' answered here.
func flows(e Expected, i int) (remote, foreign float64) {
	for j := range e.Edge {
		if j != i {
			remote += e.Edge[i] * e.Route[i][j]
			foreign += e.Edge[j] * e.Route[j][i]
		}
	}
	return remote, foreign
}

func ratio(after, before float64) float64 {
	if before == 0 {
		return 0
	}
	return after / before
}

// Cut is the part of the inbound bytes that goes away when the local share rises
// from before to after and hop two was the share h: h (after-before)/(1-before),
// because hop two is proportional to what is not local.
func Cut(h, before, after float64) float64 {
	if before >= 1 {
		return 0
	}
	return h * (after - before) / (1 - before)
}

// FreeGrowth is by which part the unused capacity of a link grows when its
// traffic, the share u of its capacity, is cut by the part c: free goes from 1-u
// to 1-u(1-c), so it grows by uc/(1-u). A full link had nothing free: +Inf.
func FreeGrowth(u, c float64) float64 {
	if u >= 1 {
		return math.Inf(1)
	}
	return u * c / (1 - u)
}

// RateFor is the number of requests per second, of the whole load, at which a
// link is used to the share u when each request brings it perRequest bytes.
func RateFor(link units.BitRate, u, perRequest float64) float64 {
	if perRequest <= 0 {
		return math.Inf(1)
	}
	return u * float64(link) / 8 / perRequest
}
