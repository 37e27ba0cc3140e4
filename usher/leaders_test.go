package usher

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// valve holds the requests of one usher back, as a paused process or a network
// that loses its way does: what was sent arrives later, whatever the sender has
// concluded meanwhile.
type valve struct {
	mu     sync.Mutex
	cut    bool
	open   chan struct{}
	late   int // writes to pods that were held
	caught chan struct{}
}

func newValve() *valve {
	return &valve{open: make(chan struct{}), caught: make(chan struct{}, 100)}
}

// armed holds the first write to a pod and everything from then on.
func (v *valve) hold(r *http.Request) *http.Request {
	v.mu.Lock()
	write := r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/pods/")
	v.cut = v.cut || write
	held := v.cut
	if held && write {
		v.late++
	}
	v.mu.Unlock()
	if !held {
		return r
	}
	if !write {
		select {
		case <-v.open:
		case <-r.Context().Done():
		}
		return r
	}
	v.caught <- struct{}{}
	<-v.open
	return r.WithContext(context.WithoutCancel(r.Context()))
}

// testLateWrite has a leader decide to give number 0 to one pod, pauses it at the
// moment of sending, lets another leader give 0 to a pod that comes before, and
// then lets the late write arrive.
func testLateWrite(p *playground, r *rig) {
	audit := p.audit()
	p.app("web", 1)
	v := newValve()
	old := r.usher(p, "old", DefaultConfig(), v.hold)
	old.untilLeading(p)

	// Pods of one second are ordered by name; "a" must come before "b" and be made
	// after the old leader has decided for "b", in the same second.
	p.create("web", "b", "n1")
	select {
	case <-v.caught:
	case <-time.After(30 * time.Second):
		p.Fatal("the old leader never wrote")
	}
	p.create("web", "a", "n1")

	r.usher(p, "new", DefaultConfig(), nil)
	p.until("the new leader to give number 0", func(ctx context.Context) error {
		numbers, err := p.numbers(ctx)
		if err == nil && numbers["a"]+numbers["b"] != "0" {
			err = fmt.Errorf("numbers are %v", numbers)
		}
		return err
	})
	numbers, err := p.numbers(p.Context())
	p.must(err)
	p.Logf("before the late write: %v", numbers)
	close(v.open)
	old.stop()
	if numbers["a"] != "0" {
		p.Skip("the pods were not made within one second, so both leaders chose the same pod")
	}
	p.untilNumbers(map[string]string{"a": "0", "b": ""})
	audit.clean(p)
}
