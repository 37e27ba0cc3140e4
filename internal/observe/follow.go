package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"secondhop/internal/wait"
)

const (
	reconnectPeriod = 200 * time.Millisecond
	catchUpPeriod   = 100 * time.Millisecond
)

// Coverage says how well a stream of changes was followed.
type Coverage struct {
	Events     int `json:"events"`     // changes seen
	Reconnects int `json:"reconnects"` // streams taken up again where they broke off: nothing is lost
	Relists    int `json:"relists"`    // streams that could not be taken up again: changes may be lost
}

// Complete says that every change was seen.
func (c Coverage) Complete() bool { return c.Relists == 0 }

// object is any API object.
type object interface {
	metav1.Object
	runtime.Object
}

// source is where objects of one kind are listed and watched. An informer would
// not do: it folds changes that come quickly into one, and may hide a state that
// lasted for an instant.
type source[O object] struct {
	subject string
	list    func(context.Context, metav1.ListOptions) ([]O, string, error)
	watch   func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// handler is told of changes, one at a time, with the time at which they came.
type handler[O object] interface {
	// reset replaces all that is known by what exists now.
	reset(at time.Time, objects []O)
	change(at time.Time, kind watch.EventType, object O)
}

// follower keeps a handler informed of every single change from start to finish.
type follower[O object] struct {
	source  source[O]
	handler handler[O]
	stop    context.CancelFunc
	done    chan struct{}

	mu       sync.Mutex
	versions map[string]string // resource version by UID, as far as changes were handled
	position string            // resource version up to which everything was handled
	coverage Coverage
	err      error
}

// follow lists, opens the stream and goes on handling it until finish. On return
// everything that existed has been handled and no later change will be missed.
func follow[O object](ctx context.Context, from source[O], to handler[O]) (*follower[O], error) {
	f := &follower[O]{source: from, handler: to, done: make(chan struct{})}
	if err := f.relist(ctx); err != nil {
		return nil, fmt.Errorf("watch %s: %w", from.subject, err)
	}
	stream, err := f.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", from.subject, err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	go f.run(running, stream)
	return f, nil
}

// finish waits until everything that the API server knows by now was handled,
// then ends the stream.
func (f *follower[O]) finish(ctx context.Context) (Coverage, error) {
	err := wait.Until(ctx, "the watch of "+f.source.subject+" to catch up", catchUpPeriod, f.behind)
	f.stop()
	<-f.done
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.coverage, errors.Join(err, f.err)
}

// abandon ends the stream, wherever it is.
func (f *follower[O]) abandon(context.Context) error {
	f.stop()
	<-f.done
	return nil
}

// behind compares a fresh list with what was handled.
func (f *follower[O]) behind(ctx context.Context) error {
	objects, _, err := f.source.list(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(objects) != len(f.versions) {
		return fmt.Errorf("%d objects exist, %d are known", len(objects), len(f.versions))
	}
	for _, o := range objects {
		if f.versions[string(o.GetUID())] != o.GetResourceVersion() {
			return fmt.Errorf("the last change of %s was not seen yet", o.GetName())
		}
	}
	return nil
}

func (f *follower[O]) relist(ctx context.Context) error {
	objects, position, err := f.source.list(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.versions = map[string]string{}
	for _, o := range objects {
		f.versions[string(o.GetUID())] = o.GetResourceVersion()
	}
	f.position = position
	f.handler.reset(time.Now(), objects)
	return nil
}

func (f *follower[O]) open(ctx context.Context) (watch.Interface, error) {
	return f.source.watch(ctx, metav1.ListOptions{ResourceVersion: f.position, AllowWatchBookmarks: true})
}

func (f *follower[O]) run(ctx context.Context, stream watch.Interface) {
	defer close(f.done)
	for {
		err := f.drain(ctx, stream)
		stream.Stop()
		if ctx.Err() != nil {
			return
		}
		stream, err = f.reopen(ctx, err)
		if err != nil {
			f.mu.Lock()
			f.err = fmt.Errorf("watch %s: %w", f.source.subject, err)
			f.mu.Unlock()
			return
		}
	}
}

// reopen takes the stream up where it broke off; only when the server has
// forgotten that point does it list anew, and count it.
func (f *follower[O]) reopen(ctx context.Context, broken error) (watch.Interface, error) {
	return wait.For(ctx, "the API server", reconnectPeriod, func(ctx context.Context) (watch.Interface, error) {
		if expired(broken) {
			if err := f.relist(ctx); err != nil {
				return nil, err
			}
			f.count(func(c *Coverage) { c.Relists++ })
			broken = nil
		}
		stream, err := f.open(ctx)
		if err != nil {
			broken = err
			return nil, err
		}
		f.count(func(c *Coverage) { c.Reconnects++ })
		return stream, nil
	})
}

func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

func (f *follower[O]) count(add func(*Coverage)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	add(&f.coverage)
}

// drain handles a stream to its end; the error is what the server said last.
func (f *follower[O]) drain(ctx context.Context, stream watch.Interface) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			if o, ok := event.Object.(O); ok {
				f.handle(event.Type, o)
			}
		}
	}
}

func (f *follower[O]) handle(kind watch.EventType, o O) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = o.GetResourceVersion()
	switch kind {
	case watch.Bookmark:
		return
	case watch.Deleted:
		delete(f.versions, string(o.GetUID()))
	default:
		f.versions[string(o.GetUID())] = o.GetResourceVersion()
	}
	f.coverage.Events++
	f.handler.change(time.Now(), kind, o)
}
