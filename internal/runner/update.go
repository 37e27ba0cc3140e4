package runner

import (
	"context"
	"fmt"
	"math"
	"time"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/report"
	"secondhop/internal/timeline"
)

// UpdateBounds are what an update may do to requests.
type UpdateBounds struct {
	Recovery time.Duration // of the local share, from when the last pod was done
	P99      time.Duration // of response times during the update; 0 for no bound
}

// recoveryWindow is over what the local share is taken while it comes back.
const recoveryWindow = 5 * time.Second

// Update is what an update under load has to show: nothing dropped, no slot ever
// held twice on a node, the local share back in time.
func (l *Lab) Update(o *Outcome, bounds UpdateBounds) ([]measure.Assertion, error) {
	expected, err := locality.Expect(locality.Slots, o.Placement, locality.Options{})
	if err != nil {
		return nil, err
	}
	after := o.Window(timeline.After)
	recovered, err := l.Family.RecoveredOf("recovery", "local share after the last pod", o.Requests,
		after, expected.NodeLocal, recoveryWindow, bounds.Recovery)
	if err != nil {
		return nil, err
	}
	assertions := []measure.Assertion{
		o.All().Drops("drops", "all nodes"),
		oneHolder(o),
		recovered,
	}
	if bounds.P99 > 0 {
		during, err := o.Tally(o.Window(timeline.During))
		if err != nil {
			return nil, err
		}
		assertions = append(assertions, measure.P99("response-time", "p99 during the update", during.Response(), bounds.P99))
	}
	return decided(measure.Generator("generator", "client", o.Summary), assertions...), nil
}

// oneHolder is that no slot EndpointSlice ever had two pods of one node, in a
// watch that missed nothing. Clients cannot see this fault.
func oneHolder(o *Outcome) measure.Assertion {
	const id = "slot-holders"
	slots := o.Observed.Slots
	if !slots.Complete() {
		return measure.CannotTell(id, "slot EndpointSlices", fmt.Sprintf("the watch lost %d stretches of changes", slots.Relists))
	}
	assertion := measure.Equal(id, "changes with two pods of a node in a slot", "count", float64(len(slots.Violations)), 0)
	assertion.N = int64(slots.Events)
	if len(slots.Violations) > 0 {
		assertion.Detail = slots.Violations[0].String()
	}
	return assertion
}

// UpdateRows adds an update to the table of results: before, during and after.
func (l *Lab) UpdateRows(group string, o *Outcome) error {
	expected, err := locality.Expect(locality.Slots, o.Placement, locality.Options{})
	if err != nil {
		return err
	}
	for _, phase := range []timeline.Phase{timeline.Before, timeline.During, timeline.After} {
		tally, err := o.Tally(o.Window(phase))
		if err != nil {
			return err
		}
		row := o.row(group, expected, tally)
		row.Strategy = string(phase)
		if err := l.Results.Row(row); err != nil {
			return err
		}
	}
	return nil
}

// row describes a part of a run as the table of results shows it.
func (o *Outcome) row(group string, expected locality.Expected, tally *measure.Tally) report.Row {
	return report.RowOf(group, o.Placement, o.Nodes, expected, tally)
}

// Reloaded is what reloads have to show: nothing dropped, the shares as before
// from the first reload to the end, and every regular server still in its place.
func (l *Lab) Reloaded(ctx context.Context, app *deploy.App, o *Outcome) ([]measure.Assertion, error) {
	expected, err := locality.Expect(locality.Slots, o.Placement, locality.Options{})
	if err != nil {
		return nil, err
	}
	since, err := o.Tally(measure.Window{From: o.Window(timeline.During).From, To: o.End()})
	if err != nil {
		return nil, err
	}
	regular, err := l.regularServers(ctx, app)
	if err != nil {
		return nil, err
	}
	assertions := []measure.Assertion{
		o.All().Drops("drops", "all nodes"),
		l.Family.Share("local-share", "all nodes since the first reload", since.LocalShare(), expected.NodeLocal),
		l.Family.Share("slot-share", "all nodes since the first reload", since.SlotShare(), expected.Slot),
	}
	for _, node := range o.Nodes {
		assertions = append(assertions, measure.Equal("regular-servers", node+", after the last reload", "count",
			float64(regular[node]), float64(app.Pods())))
	}
	return decided(measure.Generator("generator", "client", o.Summary), assertions...), nil
}

// regularServers counts the usable regular servers of the application per node.
func (l *Lab) regularServers(ctx context.Context, app *deploy.App) (map[string]int, error) {
	stats, err := l.Parts.Edges.Stats(ctx)
	if err != nil {
		return nil, err
	}
	usable := map[string]int{}
	for node, s := range stats {
		for _, server := range s.Servers {
			if server.Proxy == app.OwnerBackend() && server.Up() {
				usable[node]++
			}
		}
	}
	return usable, nil
}

// highestLocal is the greatest local share that any slots can give a node of the
// placement, with the noise of n requests: more than that is a fault as well,
// since then the rest of the cluster is out of use.
func (l *Lab) highestLocal(o *Outcome, n int64) (float64, error) {
	expected, err := locality.Expect(locality.Slots, o.Placement, locality.Options{})
	if err != nil {
		return math.NaN(), err
	}
	return l.Family.Accept(n, expected.NodeLocal).High, nil
}
