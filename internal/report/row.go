package report

import (
	"math"

	"secondhop/internal/locality"
	"secondhop/internal/measure"
)

// Row is one strategy in one situation, a line of the table.
type Row struct {
	// Group is the heading that the row stands under: steady state, rolling update.
	Group     string `json:"group"`
	Strategy  string `json:"strategy"`
	Placement []int  `json:"placement"` // ready pods per node
	Requests  int64  `json:"requests"`
	Failed    int64  `json:"failed"`
	// Slot is nil for strategies without a draw.
	Slot     *Estimate          `json:"slot,omitempty"`
	Local    *Estimate          `json:"local,omitempty"`
	Balance  *measure.Balance   `json:"balance,omitempty"`
	Response *measure.Quantiles `json:"response,omitempty"`
	// Bytes is the mean of all nodes; Nodes has each.
	Bytes *Bytes    `json:"bytes,omitempty"`
	Cut   *Cut      `json:"cut,omitempty"`
	Nodes []NodeRow `json:"nodes,omitempty"`
}

// Estimate is a measured share with its 95 % interval and what was expected.
type Estimate struct {
	Observed float64          `json:"observed"`
	Interval measure.Interval `json:"interval95"`
	Expected float64          `json:"expected"`
	N        int64            `json:"n"`
}

// Bytes is what crosses one node's link, in bytes per request of the whole load.
type Bytes struct {
	In  float64 `json:"in"`
	Out float64 `json:"out"`
	// Predicted is In as computed; 0 if nothing was predicted.
	Predicted float64 `json:"predicted,omitempty"`
}

// Cut is the part of the inbound bytes that went away, against the baseline.
type Cut struct {
	Observed  float64 `json:"observed"`
	Predicted float64 `json:"predicted"`
}

// NodeRow is the part of a row that belongs to one node.
type NodeRow struct {
	Node  string    `json:"node"`
	Pods  int       `json:"pods"`
	Slot  *Estimate `json:"slot,omitempty"`
	Local *Estimate `json:"local,omitempty"`
	Bytes *Bytes    `json:"bytes,omitempty"`
	Cut   *Cut      `json:"cut,omitempty"`
}

// EstimateOf is the share with its interval; nil if nothing was observed.
func EstimateOf(s measure.Share, expected float64) *Estimate {
	if s.N == 0 {
		return nil
	}
	return &Estimate{Observed: s.Ratio(), Interval: s.Wilson(0.95), Expected: expected, N: s.N}
}

// RowOf fills a row from a tally of requests: shares, whole and per node,
// against the expected values, balance, failures and response times. Nodes are
// the ingress nodes in the order of the placement that expected was made for.
func RowOf(group string, placement locality.Placement, nodes []string, expected locality.Expected, t *measure.Tally) Row {
	row := Row{
		Group: group, Strategy: string(expected.Strategy), Placement: placement.Pods,
		Requests: t.Requests, Failed: t.Failed, Local: EstimateOf(t.LocalShare(), expected.NodeLocal),
	}
	draws := expected.Strategy == locality.Slots
	if draws {
		row.Slot = EstimateOf(t.SlotShare(), expected.Slot)
	}
	if len(t.Pods) > 0 {
		balance := measure.BalanceOf(t.Pods)
		row.Balance = &balance
	}
	if response := t.Response().Summary(); response.N > 0 {
		row.Response = &response
	}
	for i, node := range nodes {
		n := NodeRow{Node: node, Pods: placement.Pods[i], Local: EstimateOf(t.LocalShareAt(node), expected.LocalAt(i))}
		if draws {
			n.Slot = EstimateOf(t.SlotShareAt(node), expected.SlotAt[i])
		}
		row.Nodes = append(row.Nodes, n)
	}
	return row
}

// AddBytes puts the nodes' traffic, in the order of the row's nodes, and its
// mean into the row. Predicted inbound bytes per request may be nil.
func (r *Row) AddBytes(traffic []measure.Traffic, predicted []float64) {
	var mean Bytes
	for i := range r.Nodes {
		if i >= len(traffic) || math.IsNaN(traffic[i].InPerRequest()) {
			return
		}
		b := Bytes{In: traffic[i].InPerRequest(), Out: traffic[i].OutPerRequest()}
		if i < len(predicted) {
			b.Predicted = predicted[i]
		}
		r.Nodes[i].Bytes = &b
		share := 1 / float64(len(r.Nodes))
		mean.In += b.In * share
		mean.Out += b.Out * share
		mean.Predicted += b.Predicted * share
	}
	r.Bytes = &mean
}

// AddCut puts the reduction of inbound bytes against the baseline row into the
// row and its nodes; predicted holds the cut of each node, whole the mean's.
func (r *Row) AddCut(baseline Row, predicted []float64, whole float64) {
	if r.Bytes != nil && baseline.Bytes != nil {
		r.Cut = &Cut{Observed: measure.CutOf(baseline.Bytes.In, r.Bytes.In), Predicted: whole}
	}
	for i := range r.Nodes {
		if i < len(predicted) && i < len(baseline.Nodes) && r.Nodes[i].Bytes != nil && baseline.Nodes[i].Bytes != nil {
			r.Nodes[i].Cut = &Cut{Observed: measure.CutOf(baseline.Nodes[i].Bytes.In, r.Nodes[i].Bytes.In), Predicted: predicted[i]}
		}
	}
}
