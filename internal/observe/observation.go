package observe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"secondhop/clusters/links"
	"secondhop/internal/cleanup"
	"secondhop/internal/deploy"
	"secondhop/internal/edges"
)

// Options are what an observation looks at besides what it always does.
type Options struct {
	SinkPort int  // where background traffic goes; 0 for none
	Sink     Sink // told of events as they happen; may be nil
	// NoSplit leaves out the counters in the nodes' packet path. They cost each
	// packet a few rules, which no run so far has noticed.
	NoSplit bool
}

// Result is everything that was observed. Maps are by node name.
type Result struct {
	From  time.Time  `json:"from"`
	To    time.Time  `json:"to"`
	Slots SlotReport `json:"slots"`
	Pods  PodReport  `json:"pods"`
	// Endpoints are those of the application's Service and of its slot Services.
	Endpoints EndpointReport        `json:"endpoints"`
	Nodes     NodeReport            `json:"nodes"`
	HAProxy   map[string]ProxyDelta `json:"haproxy"`
	States    StateReport           `json:"states"`
	Links     map[string]LinkDelta  `json:"links"`
	Split     map[string]Split      `json:"split,omitempty"`
	Host      HostHealth            `json:"host"`
}

// SegmentGap is by which share the split of a node reads less than its link; see
// Split.SegmentGap.
func (r *Result) SegmentGap(node string) float64 {
	return r.Split[node].SegmentGap(r.Links[node].In.Bytes)
}

// Observation is under way until End or Stop.
type Observation struct {
	lab      *deploy.Lab
	splitter *Splitter // nil without a split
	slots    *SlotWatcher
	pods     *PodWatcher
	ends     *EndpointWatcher
	nodes    *NodeWatcher
	states   *stateWatcher
	before   counters
	undo     cleanup.Stack
	ended    bool
}

// counters are readings of everything that counts.
type counters struct {
	at    time.Time
	proxy map[string]edges.Stats
	links map[string]links.Counters
	split map[string]Split
	host  hostReading
}

// stopLimit is what each step of the clean-up may take.
const stopLimit = 30 * time.Second

// Ports and the pod network of the lab.
const (
	appPort       = 8080
	ingressPort   = 80
	baselinePort  = 81
	podNetworkAll = "198.18.128.0/17"
)

// Begin starts to observe an application in the lab. On return all watches are
// complete from now on and all counters were read. On an error nothing is left
// behind; else Stop or End must follow.
func Begin(ctx context.Context, lab *deploy.Lab, app *deploy.App, opts Options) (_ *Observation, err error) {
	o := &Observation{lab: lab}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("begin to observe: %w", err), o.Stop(ctx))
		}
	}()
	if err := o.installSplit(ctx, opts); err != nil {
		return nil, err
	}
	if err := o.watch(ctx, app, opts.Sink); err != nil {
		return nil, err
	}
	o.before, err = o.read(ctx)
	return o, err
}

func (o *Observation) installSplit(ctx context.Context, opts Options) error {
	if opts.NoSplit {
		return nil
	}
	nodes := map[string]netip.Addr{}
	for _, worker := range o.lab.Cluster.Workers() {
		nodes[worker.Name] = worker.Address
	}
	o.splitter = NewSplitter(o.lab.Cluster, nodes, SplitSpec{
		PodNetwork: netip.MustParsePrefix(podNetworkAll), IngressPorts: []int{ingressPort, baselinePort},
		AppPort: appPort, SinkPort: opts.SinkPort,
	})
	o.undo.Push("counters in the nodes", o.splitter.Remove)
	return o.splitter.Install(ctx)
}

func (o *Observation) watch(ctx context.Context, app *deploy.App, sink Sink) (err error) {
	typed, namespace := o.lab.Client.Typed, app.Spec.Namespace
	if services := app.SlotServices(); len(services) > 0 {
		if o.slots, err = WatchSlots(ctx, typed, namespace, services, sink); err != nil {
			return err
		}
		o.undo.Push("watch of slots", o.slots.follower.abandon)
	}
	if o.pods, err = WatchPods(ctx, typed, namespace, app.Selector(), sink); err != nil {
		return err
	}
	o.undo.Push("watch of pods", o.pods.follower.abandon)
	if o.ends, err = WatchEndpoints(ctx, typed, namespace, append(app.SlotServices(), app.Spec.Name)); err != nil {
		return err
	}
	o.undo.Push("watch of endpoints", o.ends.follower.abandon)
	if o.nodes, err = WatchNodes(ctx, typed); err != nil {
		return err
	}
	o.undo.Push("watch of nodes", o.nodes.follower.abandon)
	o.states = watchStates(ctx, o.lab.Edges, app.Backend(), app.OwnerBackend(), sink)
	o.undo.Push("samples of states", func(context.Context) error { o.states.finish(); return nil })
	return nil
}

// read reads all counters as nearly at once as it can.
func (o *Observation) read(ctx context.Context) (counters, error) {
	c := counters{at: time.Now()}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { c.links, err = links.Read(ctx, o.lab.Cluster.WorkerNames()...); return err })
	group.Go(func() (err error) { c.host, err = readHost("/proc"); return err })
	group.Go(func() (err error) { c.proxy, err = o.lab.Edges.Stats(ctx); return err })
	if o.splitter != nil {
		group.Go(func() (err error) { c.split, err = o.splitter.Read(ctx); return err })
	}
	return c, group.Wait()
}

// End reads all counters once more, waits until every watch has seen everything
// up to now, and ends the observation. Nothing is left behind, on an error either.
func (o *Observation) End(ctx context.Context) (_ *Result, err error) {
	defer func() { err = errors.Join(err, o.Stop(ctx)) }()
	if o.ended {
		return nil, errors.New("end of an observation that has ended")
	}
	after, err := o.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the observation: %w", err)
	}
	result := &Result{
		From: o.before.at, To: after.at,
		HAProxy: proxyDeltas(o.before.proxy, after.proxy),
		Host:    hostHealth(o.before.host, after.host),
	}
	if result.Links, err = linkDeltas(o.before.links, after.links); err != nil {
		return nil, err
	}
	if o.splitter != nil {
		result.Split = map[string]Split{}
		for node, split := range after.split {
			result.Split[node] = split.Sub(o.before.split[node])
		}
	}
	return result, o.finishWatches(ctx, result)
}

func (o *Observation) finishWatches(ctx context.Context, result *Result) (err error) {
	result.States = o.states.finish()
	if result.Pods, err = o.pods.Finish(ctx); err != nil {
		return err
	}
	if result.Endpoints, err = o.ends.Finish(ctx); err != nil {
		return err
	}
	if result.Nodes, err = o.nodes.Finish(ctx); err != nil {
		return err
	}
	if o.slots != nil {
		result.Slots, err = o.slots.Finish(ctx)
	}
	return err
}

// Stop ends an observation whose result is not wanted and leaves nothing behind.
// After End, or a second time, it does nothing.
func (o *Observation) Stop(ctx context.Context) error {
	o.ended = true
	return o.undo.Run(ctx, stopLimit)
}
