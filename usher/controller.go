package usher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	// workers decide in parallel for different apps; writes are beside them.
	workers = 4
	// resyncPeriod is how often everything is looked at again. Nothing relies
	// on it; it bounds the harm of an event that was lost by a defect.
	resyncPeriod = 30 * time.Second
)

// Controller keeps labels and slot Services as the rules say, while it leads.
type Controller struct {
	config  Config
	client  kubernetes.Interface
	lease   Lease
	ingress string
	log     *slog.Logger
	metrics *Metrics
	leading atomic.Pointer[session]
}

// New makes a controller. ingress is a label selector of the nodes that have an
// ingress, over which the expected share is the mean.
func New(client kubernetes.Interface, config Config, lease Lease, ingress string, log *slog.Logger) *Controller {
	c := &Controller{
		config: config, client: client, lease: lease.WithDefaults(), ingress: ingress, log: log,
	}
	c.metrics = newMetrics(config, c.leading.Load)
	return c
}

// Metrics is what to register with Prometheus.
func (c *Controller) Metrics() *Metrics { return c.metrics }

// Run takes part in elections and works while it leads, until ctx ends. It then
// returns nil, with nothing left running.
func (c *Controller) Run(ctx context.Context) error {
	return c.lease.lead(ctx, c.client, c.term)
}

// term is one term of leadership. It ends with ctx, or as soon as the Lease is
// seen to name another; the elector then finds out too.
func (c *Controller) term(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.newSession(ctx, cancel)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Error("cannot begin to lead", "error", err)
		}
		return
	}
	c.log.Info("leading", "term", s.writer.fence.name(), "horizon", s.term.horizon)
	c.leading.Store(s)
	defer c.leading.Store(nil)
	s.run(ctx)
	c.log.Info("not leading any more")
}

// session is the machinery around one Term.
type session struct {
	*Controller
	term   *Term
	writer *writer
	informers
	pods, slots workqueue.TypedRateLimitingInterface[Key]
	cancel      context.CancelFunc
	complained  map[string]bool // used by the one worker of slots
}

func (c *Controller) newSession(ctx context.Context, cancel context.CancelFunc) (*session, error) {
	fence, err := newFence(ctx, c.client, c.lease)
	if err != nil {
		return nil, err
	}
	// After the fence is read, since what the horizon proves rests on that order.
	horizon, err := horizonOf(ctx, c.client)
	if err != nil {
		return nil, err
	}
	s := &session{Controller: c, term: NewTerm(c.config, horizon, time.Now), cancel: cancel, complained: map[string]bool{}}
	if s.informers, err = newInformers(c.client, c.ingress, horizon); err != nil {
		return nil, err
	}
	limiter := func() workqueue.TypedRateLimiter[Key] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[Key](firstBackoff, lastBackoff)
	}
	s.pods = workqueue.NewTypedRateLimitingQueue(limiter())
	s.slots = workqueue.NewTypedRateLimitingQueue(limiter())
	s.writer = &writer{
		config: c.config, client: c.client, fence: fence, term: s.term, log: c.log,
		count: c.metrics.countWrite, settled: s.settled, places: make(chan struct{}, maxWrites),
	}
	return s, nil
}

// run watches and works until ctx ends, and returns with nothing left running.
func (s *session) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer s.writer.running.Wait()
	synced, err := s.watch(ctx, &running)
	if err != nil {
		s.log.Error("cannot watch", "error", err)
		return
	}
	defer s.pods.ShutDown()
	defer s.slots.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return
	}
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { work(ctx, s.pods, s.planOne) })
	}
	working.Go(func() { work(ctx, s.slots, s.reconcileSlots) })
	s.resync(ctx)
	s.pods.ShutDown()
	s.slots.ShutDown()
	working.Wait()
}

// watch starts the informers. What they report before all are synced is only
// taken in; nobody works the queues yet.
func (s *session) watch(ctx context.Context, running *sync.WaitGroup) ([]cache.InformerSynced, error) {
	late := newBelated(s.config.WatchDelay)
	running.Go(func() { late.run(ctx) })
	pods, err := s.informers.pods.AddEventHandler(late.handler(handlers(s.setPod, s.dropPod)))
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	services, err := s.services.AddEventHandler(late.handler(handlers(s.setService, s.dropService)))
	if err != nil {
		return nil, fmt.Errorf("watch services: %w", err)
	}
	for _, informer := range []cache.SharedIndexInformer{s.informers.pods, s.services, s.nodes} {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	return []cache.InformerSynced{pods.HasSynced, services.HasSynced, s.nodes.HasSynced}, nil
}

func (s *session) resync(ctx context.Context) {
	ticker := time.NewTicker(resyncPeriod)
	defer ticker.Stop()
	for {
		for _, k := range s.term.Keys() {
			s.pods.Add(k)
			s.slots.Add(k)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// work takes keys from queue until it shuts down; a key whose work fails comes
// back later.
func work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Key], do func(context.Context, Key) error) {
	for {
		k, shutDown := queue.Get()
		if shutDown {
			return
		}
		if err := do(ctx, k); err != nil {
			queue.AddRateLimited(k)
		} else {
			queue.Forget(k)
		}
		queue.Done(k)
	}
}

// planOne decides for one app and sends the writes on their way.
func (s *session) planOne(ctx context.Context, k Key) error {
	s.writer.send(ctx, s.term.Plan(k), func(err error) { s.failed(ctx, "number pods", k, err) })
	return nil
}

// failed logs an error and ends the term if that is what it says.
func (s *session) failed(ctx context.Context, what string, k Key, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, errTermOver):
		s.log.Warn("another leader has taken over")
		s.cancel()
	default:
		s.log.Warn(what, "namespace", k.Namespace, "app", k.App, "error", err)
	}
	return err
}

func (s *session) settled(keys []Key) {
	for _, delay := range s.term.TakeDelays() {
		s.metrics.observeDelay(delay)
	}
	s.enqueue(keys)
}

func (s *session) enqueue(keys []Key) {
	for _, k := range keys {
		s.pods.Add(k)
	}
}

func (s *session) setPod(object *corev1.Pod) {
	pod, err := s.config.PodOf(object)
	if err != nil {
		s.log.Error("pod cannot be read", "error", err)
		return
	}
	s.enqueue(s.term.SetPod(pod))
}

func (s *session) dropPod(object *corev1.Pod) {
	s.enqueue(s.term.DropPod(object.Namespace, object.UID))
}
