package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"secondhop/edge/haproxy"
	"secondhop/internal/edges"
	"secondhop/internal/wait"
)

// samplePeriod is how often each HAProxy is asked for its servers' states. One
// program per edge stays for the whole run; starting one for every sample would
// cost more processor time than the load.
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
// state of every server.
type StateReport struct {
	Samples map[string]int `json:"samples"` // by node: how often it was looked
	Changes []StateChange  `json:"changes"`
}

// stateWatcher samples the servers of some backends on every edge.
type stateWatcher struct {
	edges    *edges.Edges
	backends []string
	sink     Sink
	stop     context.CancelFunc
	done     sync.WaitGroup

	mu      sync.Mutex
	samples map[string]int
	last    map[[3]string]haproxy.ServerStat // by node, backend and server
	changes []StateChange
}

func watchStates(ctx context.Context, all *edges.Edges, backends []string, sink Sink) *stateWatcher {
	w := &stateWatcher{
		edges: all, backends: backends, sink: sink,
		samples: map[string]int{}, last: map[[3]string]haproxy.ServerStat{},
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, node := range all.Nodes {
		w.done.Go(func() { w.run(ctx, node) })
	}
	return w
}

// run keeps a stream open to the edge of a node, whichever pod that is. Nothing
// but the end of the watch ends it.
func (w *stateWatcher) run(ctx context.Context, node string) {
	_ = wait.Until(ctx, "samples of "+node, samplePeriod, func(ctx context.Context) error {
		pods, err := w.edges.Pods(ctx)
		if pods[node] == "" {
			return errors.Join(err, errors.New("no edge runs"))
		}
		tables := &tableWriter{take: func(table []byte) { w.sample(time.Now(), node, table) }}
		err = w.edges.Exec(ctx, pods[node], tables, "stat", "--every", samplePeriod.String())
		return fmt.Errorf("the stream ended: %w", err)
	})
}

func (w *stateWatcher) finish() StateReport {
	w.stop()
	w.done.Wait()
	slices.SortStableFunc(w.changes, func(a, b StateChange) int { return a.At.Compare(b.At) })
	return StateReport{w.samples, w.changes}
}

// sample compares a table with the one before it.
func (w *stateWatcher) sample(at time.Time, node string, table []byte) {
	servers, err := haproxy.ParseStat(bytes.NewReader(table))
	if err != nil {
		return // a table that was cut off when its pod ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples[node]++
	for _, s := range servers {
		if !slices.Contains(w.backends, s.Proxy) {
			continue
		}
		key := [3]string{node, s.Proxy, s.Server}
		if before, known := w.last[key]; known && before.Status == s.Status && before.Weight == s.Weight {
			continue
		}
		w.last[key] = s
		change := StateChange{at, node, s.Proxy, s.Server, s.Status, s.Weight}
		w.changes = append(w.changes, change)
		w.sink.send(Event{
			At: at, Kind: EventServerState, Node: node, Subject: s.Server,
			Detail: fmt.Sprintf("%s weight %d in %s", s.Status, s.Weight, s.Proxy),
		})
	}
}

// tableWriter divides a stream at empty lines and hands on what is between them.
type tableWriter struct {
	take    func(table []byte)
	pending []byte
}

func (t *tableWriter) Write(p []byte) (int, error) {
	t.pending = append(t.pending, p...)
	for {
		table, rest, found := bytes.Cut(t.pending, []byte("\n\n"))
		if !found {
			return len(p), nil
		}
		if text := strings.TrimSpace(string(table)); text != "" {
			t.take([]byte(text + "\n"))
		}
		t.pending = append([]byte(nil), rest...)
	}
}
