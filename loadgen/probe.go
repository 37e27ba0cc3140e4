package loadgen

import (
	"context"
	"fmt"
	"sync"
	"time"

	"secondhop/loadgen/address"
	"secondhop/loadgen/balance"
	"secondhop/loadgen/wire"
)

// events are the transitions of targets, in the order in which they happened.
type events struct {
	mu   sync.Mutex
	list []Event
}

func (e *events) add(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, event)
}

func (e *events) all() []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Event{}, e.list...)
}

// probe starts one goroutine per target that probes it until ctx ends.
func (r *run) probe(ctx context.Context, helpers *sync.WaitGroup) {
	if r.plan.Probe == nil {
		return
	}
	for i := range r.plan.Targets {
		helpers.Go(func() { r.probeTarget(ctx, i) })
	}
}

func (r *run) probeTarget(ctx context.Context, target int) {
	health := balance.NewHealth(r.plan.Probe.Fall, r.plan.Probe.Rise)
	ticker := time.NewTicker(time.Duration(r.plan.Probe.Interval))
	defer ticker.Stop()
	for {
		err := r.probeOnce(ctx, r.addresses[target])
		if ctx.Err() != nil {
			return // the probe was cut off: it says nothing about the target
		}
		if health.Observe(err == nil) {
			r.move(target, health.Up(), err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// move takes a target out or back. Requests in flight to it finish; its idle
// connections are closed now, the others as they become idle.
func (r *run) move(target int, up bool, probe error) {
	reason := "probe answered 200"
	if probe != nil {
		reason = probe.Error()
	}
	// Stamped so that between two events no request is given to a target that is out.
	when := r.clock.now()
	r.balancer.Set(target, up)
	if !up {
		when = r.clock.now()
	}
	r.events.add(Event{At: when, Node: r.plan.Targets[target].Node, Up: up, Reason: reason})
	if up {
		return
	}
	for _, p := range r.pools {
		p.evict(func(w *worker) bool { return w.target == target })
	}
}

// probeOnce is one health check on a connection of its own.
func (r *run) probeOnce(ctx context.Context, to address.Address) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.plan.Probe.Timeout))
	defer cancel()
	tcp, err := address.Dial(ctx, to)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer tcp.Close()
	conn, err := wire.NewConn(tcp)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	// Whichever way ctx ends, a read in progress ends with it.
	defer context.AfterFunc(ctx, func() { _ = tcp.Close() })()
	request := wire.Request{Method: "GET", Host: r.plan.Host, Path: r.plan.Probe.Path, Close: true}
	if err := wire.NewSender(request).Send(conn, 0); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	answer, err := wire.NewReader(conn, r.clock.now, r.names).Read("GET")
	if err != nil {
		if context.Cause(ctx) != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("probe: %w", err)
	}
	if answer.Status != 200 {
		return fmt.Errorf("probe: status %d", answer.Status)
	}
	return nil
}
