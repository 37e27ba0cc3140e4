package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"secondhop/internal/failure"
	"secondhop/loadgen/address"
	"secondhop/loadgen/balance"
	"secondhop/loadgen/pace"
	"secondhop/loadgen/wire"
)

// growthBurst is how many requests may come due at once, in a clump of Poisson
// arrivals or after a small delay, and still open a connection each.
const growthBurst = 16

// noTarget is the detail of requests of that class.
const noTarget = "every target is out by its health probe"

// interruptGrace is how long requests in flight may still take when a run is
// told to end before its time. Those of an open-ended run get their whole timeout:
// cutting them off would make failures of them that are none.
const interruptGrace = 2 * time.Second

// Output is where a run writes while it goes on. Both may be nil.
type Output struct {
	Records  io.Writer // one Record per line, in the order in which requests end
	Progress io.Writer // one Status per line, at the start, each second and at the end
}

// run is the state of one run.
type run struct {
	plan         Plan
	addresses    []address.Address
	request      wire.Request
	byConnection bool
	clock        clock
	names        *wire.Names
	balancer     *balance.Balancer
	pools        []*pool // one per target, or a single one by connection
	out          *collector

	open        context.Context // ended: no more connections are opened
	cut         func()          // ends open
	workers     sync.WaitGroup
	inFlight    sync.WaitGroup
	connections connections
	events      events

	sent, done, failed, closedByPeer atomic.Uint64
}

// Run carries out the plan and returns when the last request has ended. When ctx
// ends, no more requests are sent, those in flight get two seconds (their whole
// timeout if the plan is open-ended), and the summary is marked as interrupted. An error means that the run did not take
// place or that its records could not be written; failed requests are no error.
func Run(ctx context.Context, plan Plan, output Output) (*Summary, error) {
	plan = plan.WithDefaults()
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	if err := raiseFileLimit(plan); err != nil {
		return nil, err
	}
	timer, err := pace.NewTimer()
	if err != nil {
		return nil, failure.Infra(fmt.Errorf("load run: %w", err), "")
	}
	defer timer.Close()
	if output.Records == nil {
		output.Records = io.Discard
	}
	if output.Progress == nil {
		output.Progress = io.Discard
	}
	host := startHost()
	r := newRun(plan, newCollector(output.Records))
	r.open, r.cut = context.WithCancel(context.WithoutCancel(ctx))
	defer r.cut()
	interrupted, failed := r.drive(ctx, timer, output.Progress)
	summary := r.summarize(host, interrupted)
	if err := r.out.close(); err != nil {
		failed = errors.Join(failed, failure.Infra(err, "free disk space or choose another --out"))
	}
	return summary, failed
}

func newRun(plan Plan, out *collector) *run {
	r := &run{
		plan: plan, out: out, names: wire.NewNames(),
		byConnection: plan.SpreadBy == ByConnection,
		request: wire.Request{
			Method: plan.Method, Host: plan.Host, Path: plan.Path,
			Body: make([]byte, plan.BodyBytes), Close: plan.Connection == PerRequest,
		},
	}
	weights := make([]int, len(plan.Targets))
	for i, t := range plan.Targets {
		to, err := address.Parse(t.Address)
		if err != nil {
			panic(err) // Validate has parsed it
		}
		r.addresses = append(r.addresses, to)
		weights[i] = t.Weight
	}
	r.balancer = balance.New(weights)
	groups, perGroup := len(plan.Targets), plan.ConnectionsPerTarget
	if r.byConnection {
		groups, perGroup = 1, perGroup*len(plan.Targets)
	}
	for range groups {
		p := &pool{
			warm: perGroup, keep: perGroup, most: max(1, plan.MaxConnections/groups),
			growth: newGrowth(max(plan.Rate, plan.RateTo), growthBurst),
		}
		if plan.Connection == PerRequest {
			p.warm, p.keep = 0, p.most // workers stay, without connections
		}
		r.pools = append(r.pools, p)
	}
	r.clock = startClock()
	return r
}

// drive sends everything and waits for its end.
func (r *run) drive(ctx context.Context, timer *pace.Timer, progress io.Writer) (interrupted bool, err error) {
	background, stop := context.WithCancel(r.open)
	var helpers sync.WaitGroup
	helpers.Go(func() { r.report(background, progress) })
	r.probe(background, &helpers)

	err = r.pace(ctx, timer)
	interrupted = errors.Is(err, pace.ErrInterrupted)
	if interrupted {
		err = nil
	}
	interrupted = r.await(ctx) || interrupted
	stop()
	helpers.Wait()
	for _, p := range r.pools {
		p.shutDown()
	}
	r.workers.Wait()
	state := "finished"
	if interrupted {
		state = "interrupted"
	}
	r.writeStatus(progress, state)
	return interrupted, err
}

// pace dispatches each request at its instant. It never waits for anything but
// the clock: a request that comes due late keeps its scheduled instant, and is
// not held back to hide that.
func (r *run) pace(ctx context.Context, timer *pace.Timer) error {
	defer context.AfterFunc(ctx, timer.Interrupt)()
	schedule := r.plan.schedule()
	for id := uint64(1); ; id++ {
		at, ok := schedule.Next()
		if !ok {
			return nil
		}
		if at > r.clock.now() {
			if err := timer.Until(r.clock.monotonic + at); err != nil {
				return err
			}
		} else if ctx.Err() != nil {
			return pace.ErrInterrupted
		}
		r.dispatch(id, at)
	}
}

// schedule is the plan's; each call starts anew.
func (p Plan) schedule() *pace.Schedule {
	curve := pace.Curve(pace.Constant(p.Rate))
	if p.RateTo > 0 {
		curve = pace.Linear{From: p.Rate, To: p.RateTo, Over: time.Duration(p.Duration)}
	}
	bounds := pace.Bounds{End: time.Duration(p.Duration), Count: p.Count}
	if p.Count == 0 {
		bounds.Count = uint64(MaxRate * MaxDuration.Seconds())
	}
	if p.Arrival == ArrivalPoisson {
		return pace.Poisson(curve, bounds, p.Seed)
	}
	return pace.Even(curve, bounds)
}

// dispatch gives one request to a worker, or records why there is none.
func (r *run) dispatch(id uint64, scheduled time.Duration) {
	r.inFlight.Add(1)
	r.sent.Add(1)
	record := Record{ID: id, Scheduled: scheduled}
	p, target := r.pools[0], -1
	if !r.byConnection {
		var ok bool
		if target, ok = r.balancer.Pick(); !ok {
			r.refuse(record, wire.NoTarget, noTarget)
			return
		}
		p = r.pools[target]
		record.Node = r.plan.Targets[target].Node
	}
	w, ok := p.assign(record, r.clock.now(), func() *worker { return r.newWorker(p, target) })
	switch {
	case !ok:
		r.refuse(record, wire.Limit, "all connections are busy and too many requests wait for one")
	case w != nil:
		w.jobs <- struct{}{}
	}
}

// refuse ends a request that no worker was given.
func (r *run) refuse(record Record, class Class, detail string) {
	record.Sent = r.clock.now()
	record.Done, record.Class, record.Detail = record.Sent, class, detail
	r.finish(&record)
}

// finish books a request that has ended.
func (r *run) finish(record *Record) {
	r.out.add(record)
	if record.Failed() {
		r.failed.Add(1)
	}
	r.done.Add(1)
	r.inFlight.Done()
}

// await waits until no request is in flight. Each has its timeout; when ctx ends,
// those still there after the grace are cut off, and the result is true.
func (r *run) await(ctx context.Context) (cut bool) {
	idle := make(chan struct{})
	go func() {
		r.inFlight.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return false
	case <-ctx.Done():
	}
	limit := interruptGrace
	if r.plan.OpenEnded {
		limit = time.Duration(r.plan.Timeout) + time.Second // each ends by itself before
	}
	grace := time.NewTimer(limit)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
		r.cut()
		r.connections.abort()
		<-idle
	}
	return true
}
