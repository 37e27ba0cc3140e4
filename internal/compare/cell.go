package compare

import (
	"slices"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/trial"
)

// Figure is a measured value and what it must be.
type Figure struct {
	Observed float64          `json:"observed"`
	Interval measure.Interval `json:"interval95"`
	Expected float64          `json:"expected"`
}

// Cell is one strategy on one placement.
type Cell struct {
	Strategy  string `json:"strategy"`
	Placement string `json:"placement"`
	Pods      []int  `json:"pods"`
	Requests  int64  `json:"requests"`
	// Local and Zone are of the requests that were answered; Drop is of all.
	Local Figure `json:"local"`
	Zone  Figure `json:"zone"`
	Drop  Figure `json:"drop"`
	// Least and Most are the loads of the least and the most loaded pod, relative to the mean.
	Least, Most                 float64
	ExpectedLeast, ExpectedMost float64
	Assertions                  []measure.Assertion `json:"assertions"`
}

// Verdict is that of the worst assertion.
func (c Cell) Verdict() measure.Verdict {
	verdict := measure.Pass
	for _, a := range c.Assertions {
		if a.Verdict == measure.Fail {
			return measure.Fail
		}
		if a.Verdict != measure.Pass {
			verdict = a.Verdict
		}
	}
	return verdict
}

// cellOf compares a tally with what the strategy should have done.
func cellOf(strategy deploy.Strategy, placement Placement, outcome *trial.Outcome, expected locality.Expected, family measure.Family) Cell {
	zones := map[string]string{}
	for i, node := range outcome.Nodes {
		zones[node] = outcome.Placement.Zones[i]
	}
	tally, served := outcome.All(), 1-expected.Drop
	local, zone := tally.LocalShare(), zoneShare(tally, zones)
	drop := measure.Share{Hits: tally.Failed, N: tally.Requests}
	balance := measure.BalanceOf(tally.Pods)
	cell := Cell{
		Strategy: strategy.Name, Placement: placement.Name, Pods: placement.Pods, Requests: tally.Requests,
		Local: figure(local, expected.NodeLocal/served), Zone: figure(zone, expected.ZoneLocal/served), Drop: figure(drop, expected.Drop),
	}
	// Relative to the mean load if nothing were dropped, as the expected ones are.
	cell.Least, cell.Most = balance.Min*(1-drop.Ratio()), balance.Max*(1-drop.Ratio())
	cell.ExpectedLeast, cell.ExpectedMost, _ = expected.Balance()
	subject := strategy.Name + " on " + placement.Name
	generator := measure.Generator("generator", subject, outcome.Summary)
	cell.Assertions = []measure.Assertion{generator, drops(subject, tally, expected.Drop, family)}
	// Which endpoints topology-auto moves between zones is random: only how much
	// stays in the zone can be said before.
	if strategy.Model != locality.TopologyAuto || expected.Hints == nil {
		cell.Assertions = append(cell.Assertions,
			family.Share("local-share", subject, local, cell.Local.Expected),
			family.Pods("pod-load", subject, tally.Pods, podShares(tally, outcome.Nodes, expected)))
	}
	cell.Assertions = append(cell.Assertions, family.Share("zone-share", subject, zone, cell.Zone.Expected))
	if generator.Verdict != measure.Pass {
		for i := range cell.Assertions {
			cell.Assertions[i].Verdict = measure.Inconclusive
		}
	}
	return cell
}

// drops asserts that nothing was lost, or as much as the strategy has to lose.
func drops(subject string, tally *measure.Tally, expected float64, family measure.Family) measure.Assertion {
	if expected == 0 {
		return tally.Drops("drops", subject)
	}
	return family.Share("drops", subject, measure.Share{Hits: tally.Failed, N: tally.Requests}, expected)
}

func figure(s measure.Share, expected float64) Figure {
	return Figure{Observed: s.Ratio(), Interval: s.Wilson(0.95), Expected: expected}
}

// zoneShare is the share of answers that came from the zone of their ingress.
func zoneShare(tally *measure.Tally, zones map[string]string) measure.Share {
	var s measure.Share
	for ingress, node := range tally.Nodes {
		for server, n := range node.ByPodNode {
			s.N += n
			if zones[ingress] == zones[server] {
				s.Hits += n
			}
		}
	}
	return s
}

// podShares is the fraction of the answers that each pod should have given. Pods of
// a node have equal loads, as none has more than there are slots.
func podShares(tally *measure.Tally, nodes []string, expected locality.Expected) map[string]float64 {
	shares := map[string]float64{}
	for pod, node := range tally.PodNodes {
		if i := slices.Index(nodes, node); i >= 0 && len(expected.Load[i]) > 0 {
			shares[pod] = expected.Load[i][0] / (1 - expected.Drop)
		}
	}
	return shares
}
