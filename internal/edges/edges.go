// Package edges asks the lab's edges, in their pods, what their HAProxy does.
package edges

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"secondhop/edge/haproxy"
	"secondhop/edge/states"
	"secondhop/internal/kube"
)

const (
	selector  = "app=edge"
	container = "edge"
	program   = "/edge"
)

// Edges are all edges of a lab.
type Edges struct {
	Client    *kube.Client
	Namespace string   // where their pods live
	Nodes     []string // that must have one each
}

// Stats is what one HAProxy says about itself.
type Stats struct {
	Worker  string               // process that answered; counters start at 0 in each
	Servers []haproxy.ServerStat // of all backends
}

// Pods maps the nodes to their edge's pod; a node without a running one is an
// error.
func (e *Edges) Pods(ctx context.Context) (map[string]string, error) {
	pods, err := e.Client.PodByNode(ctx, e.Namespace, selector)
	if err != nil {
		return nil, err
	}
	for _, node := range e.Nodes {
		if pods[node] == "" {
			return nil, fmt.Errorf("no edge pod runs on %s", node)
		}
	}
	return pods, nil
}

// Exec runs a subcommand of the edge in one of its pods.
func (e *Edges) Exec(ctx context.Context, pod string, stdout io.Writer, args ...string) error {
	return e.Client.Exec(ctx, e.Namespace, pod, container, stdout, append([]string{program}, args...)...)
}

// All calls get for the pod of every given node (none: all nodes) at the same
// time and collects the results by node; the first error ends the rest.
func All[T any](ctx context.Context, e *Edges, get func(ctx context.Context, node, pod string) (T, error), nodes ...string) (map[string]T, error) {
	pods, err := e.Pods(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	results := map[string]T{}
	group, ctx := errgroup.WithContext(ctx)
	for node, pod := range pods {
		if len(nodes) > 0 && !slices.Contains(nodes, node) {
			continue
		}
		group.Go(func() error {
			value, err := get(ctx, node, pod)
			if err != nil {
				return fmt.Errorf("edge on %s: %w", node, err)
			}
			mu.Lock()
			defer mu.Unlock()
			results[node] = value
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}

// Stats reads every HAProxy's servers with their states and counters, by node.
func (e *Edges) Stats(ctx context.Context) (map[string]Stats, error) {
	return All(ctx, e, func(ctx context.Context, _, pod string) (Stats, error) { return e.StatsOf(ctx, pod) })
}

// StatsCommand is the line of HAProxy's runtime API whose answer ParseStats reads.
const StatsCommand = "show info; show stat"

// StatsOf reads one HAProxy.
func (e *Edges) StatsOf(ctx context.Context, pod string) (Stats, error) {
	var answer bytes.Buffer
	if err := e.Exec(ctx, pod, &answer, "runtime", StatsCommand); err != nil {
		return Stats{}, err
	}
	stats, err := ParseStats(answer.String())
	stats.Worker = pod + "/" + stats.Worker // a pod's processes count from 1
	return stats, err
}

// Reload has the edge of a pod reload its HAProxy and returns when the new worker
// serves.
func (e *Edges) Reload(ctx context.Context, pod string) error {
	return e.Exec(ctx, pod, io.Discard, "reload")
}

// endLimit is how long a program may take to notice that its input has ended.
const endLimit = 3 * time.Second

// FollowStates has the edge of a pod look at its servers every period and hands
// on each sample, until ctx ends, which gives nil, or the pod does.
func (e *Edges) FollowStates(ctx context.Context, pod string, period time.Duration, take func(states.Sample)) error {
	input, end := io.Pipe()
	output, lines := io.Pipe()
	defer end.Close()
	defer context.AfterFunc(ctx, func() { end.Close() })()
	streaming, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endLimit, cut) })()
	taken := make(chan error, 1)
	go func() {
		err := readSamples(output, take)
		output.CloseWithError(err)
		taken <- err
	}()
	err := e.Client.Stream(streaming, e.Namespace, pod, container, input, lines, program, "states", "--every", period.String())
	lines.CloseWithError(io.EOF)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, <-taken)
}

// readSamples reads lines to their end; one that was cut short is that of a pod
// that ended.
func readSamples(lines io.Reader, take func(states.Sample)) error {
	decoder := json.NewDecoder(lines)
	for {
		var sample states.Sample
		err := decoder.Decode(&sample)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("states of servers: %w", err)
		}
		take(sample)
	}
}

// ParseStats reads the answer to StatsCommand: lines of "Name: value", an empty
// line, and the table of statistics.
func ParseStats(answer string) (Stats, error) {
	info, table, found := strings.Cut(answer, "\n\n")
	if !found {
		return Stats{}, errors.New("HAProxy's answer has one part, want information and statistics")
	}
	var stats Stats
	for line := range strings.Lines(info) {
		if pid, found := strings.CutPrefix(strings.TrimSpace(line), "Pid: "); found {
			stats.Worker = pid
		}
	}
	if stats.Worker == "" {
		return Stats{}, errors.New("HAProxy's information has no Pid")
	}
	var err error
	stats.Servers, err = haproxy.ParseStat(strings.NewReader(strings.TrimLeft(table, "\n")))
	return stats, err
}
