package runner

import (
	"context"
	"fmt"

	"secondhop/internal/deploy"
	"secondhop/internal/measure"
	"secondhop/internal/timeline"
)

// Reinstall installs usher and the edge with other options, for a control that
// needs them broken, or without any, to put them right again. Nothing may be sent
// meanwhile.
func (l *Lab) Reinstall(ctx context.Context, options deploy.Options) error {
	options.Progress, options.AtOnce = l.progress, true
	l.deployed = nil
	if err := l.Parts.Install(ctx, options); err != nil {
		return err
	}
	// The edges are there; the next time they are replaced one by one again.
	options.AtOnce = false
	return l.Parts.Apply(ctx, options)
}

// ControlDrops is red, and so good, when the check of drops sees none although
// pods ended in the middle of their requests.
func (l *Lab) ControlDrops(o *Outcome) measure.Assertion {
	tally := o.All()
	return measure.Control("control-drops", "pods that exit at SIGTERM, redispatch off", len(o.Events) > 0,
		tally.Drops("drops", "all nodes"))
}

// ControlNeverReady is that agents which never say ready keep every slot shut, and
// that the check of slot shares notices.
func (l *Lab) ControlNeverReady(o *Outcome) ([]measure.Assertion, error) {
	expected, err := o.Expect("slots")
	if err != nil {
		return nil, err
	}
	tally := o.All()
	share := tally.SlotShare()
	return []measure.Assertion{
		measure.Equal("control-never-ready", "requests that reached a slot", "requests", float64(share.Hits), 0),
		measure.Control("control-slot-share", "agents that never say ready", share.N > 0,
			l.Family.Share("slot-share", "all nodes", share, expected.Slot)),
		tally.Drops("drops", "all nodes, slots shut"),
	}, nil
}

// ControlSlotRule is that the watch of slot EndpointSlices notices an operator
// that gives a slot away while its holder is still there.
func (l *Lab) ControlSlotRule(o *Outcome) measure.Assertion {
	return measure.Control("control-slot-holders", "slots freed at the deletion timestamp", len(o.Events) > 0, oneHolder(o))
}

// ControlRuntimeOnly is that addresses which a reload loses are noticed: regular
// servers are missing, and the local share is higher than slots can make it.
func (l *Lab) ControlRuntimeOnly(ctx context.Context, app *deploy.App, o *Outcome) ([]measure.Assertion, error) {
	regular, err := l.regularServers(ctx, app)
	if err != nil {
		return nil, err
	}
	fewest := app.Pods()
	for _, node := range o.Nodes {
		fewest = min(fewest, regular[node])
	}
	tally, err := o.Tally(o.Window(timeline.After))
	if err != nil {
		return nil, err
	}
	after := tally.LocalShare()
	highest, err := l.highestLocal(o, after.N)
	if err != nil {
		return nil, err
	}
	return []measure.Assertion{
		measure.Control("control-regular-servers", "addresses that only the running HAProxy knew, after a reload", len(o.Events) > 0,
			measure.Equal("regular-servers", "fewest on a node", "count", float64(fewest), float64(app.Pods()))),
		measure.Control("control-local-share-too-high", "no regular server left", after.N > 0,
			measure.AtMost("local-share", fmt.Sprintf("after the reload, at most %.4f", highest), "share", after.Ratio(), highest)),
	}, nil
}
