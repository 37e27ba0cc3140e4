package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"secondhop/edge/haproxy"
	"secondhop/edge/states"
	"secondhop/internal/edges"
	"secondhop/internal/wait"
)

// samplePeriod is how often each HAProxy is asked for its servers' states. One
// program per edge stays for the whole run and reports changes only: starting one
// for every sample would cost more processor time than the load, and sending whole
// tables was 0.4 Mb/s on each link.
const samplePeriod = 500 * time.Millisecond

// StateChange is a server of an edge that was seen in a new state.
type StateChange struct {
	At      time.Time `json:"at"`
	Node    string    `json:"node"`
	Backend string    `json:"backend"`
	Server  string    `json:"server"`
	Status  string    `json:"status"` // HAProxy's word
	Weight  int       `json:"weight"`
}

func (c StateChange) String() string {
	return fmt.Sprintf("%s: %s %s/%s %s weight %d", c.At.Format(time.TimeOnly), c.Node, c.Backend, c.Server, c.Status, c.Weight)
}

// StateReport is how the states of servers went. Changes begin with the first
// state of every server that takes part.
type StateReport struct {
	Samples map[string]int `json:"samples"` // by node: how often it was looked
	Changes []StateChange  `json:"changes"`
}

// stateWatcher samples the servers of an application on every edge.
type stateWatcher struct {
	edges *edges.Edges
	// slots is the backend whose slots are followed, owner the one whose regular
	// servers are: those of the first only track them.
	slots, owner string
	sink         Sink
	stop         context.CancelFunc
	done         sync.WaitGroup

	mu      sync.Mutex
	samples map[string]int
	seen    map[[3]string]states.Server // by node, backend and server
	changes []StateChange
}

func watchStates(ctx context.Context, all *edges.Edges, slots, owner string, sink Sink) *stateWatcher {
	w := newStateWatcher(slots, owner, sink)
	w.edges = all
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, node := range all.Nodes {
		w.done.Go(func() { w.run(ctx, node) })
	}
	return w
}

func newStateWatcher(slots, owner string, sink Sink) *stateWatcher {
	return &stateWatcher{slots: slots, owner: owner, sink: sink, samples: map[string]int{}, seen: map[[3]string]states.Server{}}
}

// run follows the edge of a node, whichever pod that is. Nothing but the end of
// the watch ends it.
func (w *stateWatcher) run(ctx context.Context, node string) {
	_ = wait.Until(ctx, "samples of "+node, samplePeriod, func(ctx context.Context) error {
		pods, err := w.edges.Pods(ctx)
		if pods[node] == "" {
			return errors.Join(err, errors.New("no edge runs"))
		}
		err = w.edges.FollowStates(ctx, pods[node], samplePeriod, func(s states.Sample) { w.sample(node, s) })
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the stream ended: %w", err)
	})
}

func (w *stateWatcher) finish() StateReport {
	w.stop()
	w.done.Wait()
	slices.SortStableFunc(w.changes, func(a, b StateChange) int { return a.At.Compare(b.At) })
	return StateReport{w.samples, w.changes}
}

// sample takes in what changed on a node since the sample before. After a new
// start of the edge everything is told anew; what is as it was before is left out.
func (w *stateWatcher) sample(node string, sample states.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples[node]++
	for _, s := range sample.Changed {
		slot := strings.HasPrefix(s.Server, haproxy.SlotPrefix)
		if slot && s.Proxy != w.slots || !slot && s.Proxy != w.owner {
			continue
		}
		key := [3]string{node, s.Proxy, s.Server}
		before, known := w.seen[key]
		if before == s || !known && strings.HasPrefix(s.Status, "MAINT") {
			continue // a place that nobody has taken yet
		}
		w.seen[key] = s
		w.changes = append(w.changes, StateChange{sample.At, node, s.Proxy, s.Server, s.Status, s.Weight})
		w.sink.send(Event{
			At: sample.At, Kind: EventServerState, Node: node, Subject: s.Server,
			Detail: fmt.Sprintf("%s weight %d in %s", s.Status, s.Weight, s.Proxy),
		})
	}
}
