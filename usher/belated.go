package usher

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

// belated hands events on in their order, each a fixed time after it came. It makes
// usher's view of the API late, as a slow watch does: correctness must not rest on
// how new that view is.
type belated struct {
	by time.Duration

	mu    sync.Mutex
	queue []belatedEvent
	wake  chan struct{} // holds one token when there may be work
}

type belatedEvent struct {
	due time.Time
	do  func()
}

func newBelated(by time.Duration) *belated {
	return &belated{by: by, wake: make(chan struct{}, 1)}
}

// handler is h for events that come late. What is listed at first is handed on at
// once: a term begins with a full view.
func (b *belated) handler(h cache.ResourceEventHandlerFuncs) cache.ResourceEventHandler {
	if b.by == 0 {
		return h
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, first bool) {
			if first {
				h.AddFunc(object)
				return
			}
			b.add(func() { h.AddFunc(object) })
		},
		UpdateFunc: func(before, after any) { b.add(func() { h.UpdateFunc(before, after) }) },
		DeleteFunc: func(object any) { b.add(func() { h.DeleteFunc(object) }) },
	}
}

func (b *belated) add(do func()) {
	b.mu.Lock()
	b.queue = append(b.queue, belatedEvent{time.Now().Add(b.by), do})
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run hands events on until ctx ends; what is left is forgotten.
func (b *belated) run(ctx context.Context) {
	for ctx.Err() == nil {
		b.mu.Lock()
		due := b.queue
		b.queue = nil
		b.mu.Unlock()
		for _, event := range due {
			sleep(ctx, time.Until(event.due))
			if ctx.Err() != nil {
				return
			}
			event.do()
		}
		if len(due) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-b.wake:
		}
	}
}
