package runner

import (
	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
)

// Shares is what a run in steady state has to show: nothing dropped, every node's
// slot and local share, every pod's load, and two views of them in agreement.
func (l *Lab) Shares(app *deploy.App, o *Outcome, strategy locality.Strategy) ([]measure.Assertion, error) {
	expected, err := o.Expect(strategy)
	if err != nil {
		return nil, err
	}
	tally := o.All()
	assertions := []measure.Assertion{
		tally.Drops("drops", "all nodes"),
		tally.Attributed("attribution", "all nodes"),
	}
	assertions = append(assertions, l.shares(o, tally, strategy, expected)...)
	assertions = append(assertions, l.Family.Pods("pod-load", "every pod", tally.Pods, o.podShares(expected)))
	assertions = append(assertions, views(app, o, tally, strategy)...)
	return decided(measure.Generator("generator", "client", o.Summary), assertions...), nil
}

// decided is the assertions of a run, the one about its generator first: when that
// one does not hold, nobody knows what the system would have done, and nothing
// that the run shows is the product's failure.
func decided(generator measure.Assertion, assertions ...measure.Assertion) []measure.Assertion {
	if generator.Verdict != measure.Pass {
		for i := range assertions {
			assertions[i].Verdict = measure.Inconclusive
		}
	}
	return append([]measure.Assertion{generator}, assertions...)
}

// shares compares every node's share, and the whole, with what must come out.
func (l *Lab) shares(o *Outcome, tally *measure.Tally, strategy locality.Strategy, expected locality.Expected) []measure.Assertion {
	var assertions []measure.Assertion
	for i, node := range o.Nodes {
		assertions = append(assertions, l.Family.Share("local-share", node, tally.LocalShareAt(node), expected.LocalAt(i)))
		if strategy == locality.Slots {
			assertions = append(assertions, l.Family.Share("slot-share", node, tally.SlotShareAt(node), expected.SlotAt[i]))
		}
	}
	assertions = append(assertions, l.Family.Share("local-share", "all nodes", tally.LocalShare(), expected.NodeLocal))
	if strategy == locality.Slots {
		assertions = append(assertions, l.Family.Share("slot-share", "all nodes", tally.SlotShare(), expected.Slot))
	}
	return assertions
}

// podShares is the fraction of all requests that each pod that was there should
// have served. Pods of a node have equal loads, as none has more than four.
func (o *Outcome) podShares(expected locality.Expected) map[string]float64 {
	shares := map[string]float64{}
	for i, node := range o.Nodes {
		for _, pod := range o.Observed.Pods.Pods {
			if pod.Node == node && pod.Gone.IsZero() && len(expected.Load[i]) > 0 {
				shares[pod.Name] = expected.Load[i][0]
			}
		}
	}
	return shares
}

// views compares what HAProxy counted with what the answering pods say.
func views(app *deploy.App, o *Outcome, tally *measure.Tally, strategy locality.Strategy) []measure.Assertion {
	var assertions []measure.Assertion
	var whole measure.Share
	for _, node := range o.Nodes {
		slots, all := o.Observed.HAProxy[node].SlotShare(app.Backend())
		counted := measure.Share{Hits: int64(slots), N: int64(all)}
		whole = whole.Plus(counted)
		if strategy == locality.Slots {
			assertions = append(assertions, measure.Agree("two-views", node+": HAProxy and pods", counted, tally.SlotShareAt(node)))
		}
	}
	return append(assertions, measure.Equal("two-views", "answers counted by HAProxy and by the client", "requests",
		float64(whole.N), float64(tally.Requests-tally.Failed)))
}

// Row adds a run to the table of results.
func (l *Lab) Row(group string, o *Outcome, strategy locality.Strategy) error {
	expected, err := o.Expect(strategy)
	if err != nil {
		return err
	}
	return l.Results.Row(o.row(group, expected, o.All()))
}
