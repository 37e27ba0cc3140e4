package usher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"secondhop/fixtures/manifests"
)

// valve is a network in which, from the first write to a pod on, requests wait
// until it is opened. Writes then arrive, whatever their sender has concluded
// meanwhile, as they do when a process is paused; all else is lost.
type valve struct {
	mu     sync.Mutex
	shut   bool
	open   chan struct{}
	caught chan struct{} // closed when the first write waits
}

func newValve() *valve { return &valve{open: make(chan struct{}), caught: make(chan struct{})} }

func (v *valve) pass(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	write := r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/pods/")
	v.mu.Lock()
	if write && !v.shut {
		v.shut = true
		close(v.caught)
	}
	shut := v.shut
	v.mu.Unlock()
	switch {
	case !shut:
		return next.RoundTrip(r)
	case write:
		<-v.open
		return next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// testLateWrite has a leader decide to give number 0 to one pod, pauses it at the
// moment of sending, lets another leader give 0 to a pod that comes before, and
// then lets the late write arrive.
func testLateWrite(p *playground, r *rig) {
	audit := p.audit()
	p.app("web", 1)
	v := newValve()
	old := r.usher(p, "old", DefaultConfig(), v.pass)
	old.untilLeading(p)

	// Pods of one second are ordered by name; "a" must come before "b" and be made
	// after the old leader has decided for "b", in the same second.
	p.until("the beginning of a second", func(context.Context) error {
		if into := time.Duration(time.Now().Nanosecond()); into > 100*time.Millisecond {
			return fmt.Errorf("%s into it", into)
		}
		return nil
	})
	p.create("web", "b", "n1")
	select {
	case <-v.caught:
	case <-time.After(30 * time.Second):
		p.Fatal("the old leader never wrote")
	}
	p.create("web", "a", "n1")

	r.usher(p, "new", DefaultConfig(), good)
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

// testStolenLease takes the Lease away from a leader that has not noticed. It must
// not write, and must lead again in a new term when the Lease is free.
func testStolenLease(p *playground, r *rig) {
	p.app("web", 2)
	u := r.usher(p, "robbed", DefaultConfig(), good)
	u.untilLeading(p)
	p.create("web", "a", "n1")
	p.untilNumbers(map[string]string{"a": "0"})

	p.giveLease("thief")
	p.create("web", "b", "n1")
	p.until("usher to see that its term is over", func(context.Context) error {
		if u.leading.Load() != nil {
			return errors.New("it still leads")
		}
		return nil
	})
	numbers, err := p.numbers(p.Context())
	p.must(err)
	if numbers["b"] != "" {
		p.Errorf("a number was given after the Lease was lost: %v", numbers)
	}
	p.giveLease("")
	p.untilNumbers(map[string]string{"a": "0", "b": "1"})
}

// giveLease makes someone the holder of usher's Lease, as of now; nobody if "".
func (p *playground) giveLease(holder string) {
	p.Helper()
	leases := p.client.CoordinationV1().Leases(manifests.LabNamespace)
	p.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease, err := leases.Get(p.Context(), "usher", metav1.GetOptions{})
		if err != nil {
			return err
		}
		transitions, now := *lease.Spec.LeaseTransitions+1, metav1.NowMicro()
		lease.Spec.HolderIdentity, lease.Spec.LeaseTransitions = &holder, &transitions
		lease.Spec.AcquireTime, lease.Spec.RenewTime = &now, &now
		_, err = leases.Update(p.Context(), lease, metav1.UpdateOptions{})
		return err
	}))
}
