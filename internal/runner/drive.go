package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"secondhop/clusters"
	"secondhop/internal/cleanup"
	"secondhop/internal/faults"
	"secondhop/internal/timeline"
	"secondhop/internal/trial"
)

// drive lets the events happen under load and returns when the load has ended and
// everything that they left in force is undone.
func drive(ctx context.Context, spec trial.Spec, client *clusters.Client) (_ []happened, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest+time.Minute)
	defer cancel()
	d := &driver{started: time.Now(), occurred: map[string]*occurrence{}}
	defer func() { err = errors.Join(err, d.inForce.Run(context.WithoutCancel(ctx), cleanupLimit)) }()
	if len(spec.Events) > 0 {
		if err := d.all(ctx, spec); err != nil {
			return nil, err
		}
		if err := pass(ctx, spec.After); err != nil {
			return nil, err
		}
		if err := client.Stop(ctx); err != nil {
			return nil, err
		}
	}
	code, err := client.Wait(ctx)
	if err == nil && code != 0 {
		output, _ := client.Output(ctx)
		err = fmt.Errorf("the load generator ended with exit code %d: %s", code, lastLine(output))
	}
	return d.happened, err
}

// driver makes the events of one load happen, each at its instant.
type driver struct {
	started  time.Time
	occurred map[string]*occurrence // by the name of the planned event; not written once they go

	mu       sync.Mutex
	happened []happened
	inForce  cleanup.Stack // undoes what stays until the load has ended
}

// occurrence is what other events wait for: the first time that an event is under
// way, and the last time that it is over.
type occurrence struct{ applied, done chan struct{} }

// happened is an event that took effect, in wall time.
type happened struct {
	planned string
	event   faults.Event
	outcome faults.Outcome
	undone  time.Time // zero if it stayed in force until the load had ended
}

// on is the happening on the clock of the load.
func (h happened) on(clock timeline.Clock) trial.Happening {
	happening := trial.Happening{
		Planned: h.planned, Name: h.event.Name(), Detail: h.outcome.Detail,
		Applied: clock.FromWall(h.outcome.Applied), Done: clock.FromWall(h.outcome.Done),
	}
	if !h.undone.IsZero() {
		happening.Undone = clock.FromWall(h.undone)
	}
	return happening
}

// all returns when every event is over, in the order in which they began.
func (d *driver) all(ctx context.Context, spec trial.Spec) error {
	for _, planned := range spec.Events {
		d.occurred[planned.Name] = &occurrence{make(chan struct{}), make(chan struct{})}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, planned := range spec.Events {
		group.Go(func() error {
			if err := d.await(ctx, planned.When, spec.Before); err != nil {
				return err
			}
			return d.repeat(ctx, planned)
		})
	}
	err := group.Wait()
	slices.SortStableFunc(d.happened, func(a, b happened) int { return a.outcome.Applied.Compare(b.outcome.Applied) })
	return err
}

// await returns at the instant, which counts from the start of the load, or from
// when another event was under way or over.
func (d *driver) await(ctx context.Context, when trial.When, before time.Duration) error {
	if when.After == "" {
		return pass(ctx, time.Until(d.started.Add(cmp.Or(when.Delay, before))))
	}
	other := d.occurred[when.After]
	reached := other.applied
	if when.Done {
		reached = other.done
	}
	select {
	case <-reached:
		return pass(ctx, when.Delay)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// repeat makes the event happen as often as planned.
func (d *driver) repeat(ctx context.Context, planned trial.Planned) error {
	occurred := d.occurred[planned.Name]
	for n := range max(planned.Repeat, 1) {
		if n > 0 {
			if err := pass(ctx, planned.Every); err != nil {
				return err
			}
		}
		event, err := planned.Make()
		if err != nil {
			return fmt.Errorf("%s: %w", planned.Name, err)
		}
		under := func() {
			if n == 0 {
				close(occurred.applied)
			}
		}
		if err := d.provoke(ctx, planned, event, under); err != nil {
			return err
		}
	}
	close(occurred.done)
	return nil
}

// provoke applies an event, sees that it took effect, and undoes it when its time
// is over.
func (d *driver) provoke(ctx context.Context, planned trial.Planned, event faults.Event, underWay func()) (err error) {
	undo := func(ctx context.Context) error {
		undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
		defer cancel()
		return event.Undo(undoing)
	}
	if err := event.Apply(ctx); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", event.Name(), err), undo(ctx))
	}
	underWay()
	outcome, err := event.Confirm(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", event.Name(), err), undo(ctx))
	}
	h := happened{planned: planned.Name, event: event, outcome: outcome}
	if planned.For == 0 {
		d.add(h, undo)
		return nil
	}
	err = pass(ctx, planned.For-time.Since(outcome.Applied))
	err = errors.Join(err, undo(ctx))
	h.undone = time.Now()
	d.add(h, nil)
	return err
}

// add notes what happened, and what undoes it after the load.
func (d *driver) add(h happened, undo func(context.Context) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.happened = append(d.happened, h)
	if undo != nil {
		d.inForce.Push(h.event.Name(), undo)
	}
}

// pass lets load go on for a time that the trial asks for.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
