package usher

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
)

func TestBelated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		type handed struct {
			object any
			after  time.Duration
		}
		var got []handed
		note := func(object any) { got = append(got, handed{object, time.Since(begun)}) }
		b := newBelated(2 * time.Second)
		h := b.handler(cache.ResourceEventHandlerFuncs{
			AddFunc: note, UpdateFunc: func(_, after any) { note(after) }, DeleteFunc: note,
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { b.run(ctx) })

		h.OnAdd("listed", true)
		h.OnAdd("added", false)
		time.Sleep(time.Second)
		h.OnUpdate("old", "new")
		h.OnDelete("deleted")
		time.Sleep(5 * time.Second)
		h.OnAdd("never", false)
		stop()
		running.Wait()
		want := []handed{{"listed", 0}, {"added", 2 * time.Second}, {"new", 3 * time.Second}, {"deleted", 3 * time.Second}}
		if !slices.Equal(got, want) {
			t.Errorf("handed on %v, want %v", got, want)
		}
	})
}

// testLateView is the churn of pods seen two seconds late: nothing may be wrong at
// any time, and all must be right in the end.
func testLateView(p *playground, r *rig) {
	audit := p.audit()
	p.app("web", 4)
	late := DefaultConfig()
	late.WatchDelay = time.Second
	r.usher(p, "late", late, good)
	for i := range 5 {
		p.create("web", "pod-"+string(rune('0'+i)), "n1")
	}
	p.untilNumbers(map[string]string{"pod-0": "0", "pod-1": "1", "pod-2": "2", "pod-3": "3", "pod-4": ""})
	p.terminate("pod-2")
	p.finish("pod-2")
	p.create("web", "pod-5", "n1")
	p.untilNumbers(map[string]string{"pod-0": "0", "pod-1": "1", "pod-3": "3", "pod-4": "2", "pod-5": ""})
	audit.clean(p)
}
