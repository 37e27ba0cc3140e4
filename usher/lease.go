package usher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lease says where and how leaders are elected.
type Lease struct {
	Namespace, Name string
	// Identity must differ between any two processes, also over time.
	Identity string
	// Duration is how long a silent leader keeps others waiting. It matters for
	// how soon a crashed leader is followed, not for safety.
	Duration, RenewDeadline, RetryPeriod time.Duration
}

// WithDefaults fills in what is zero: 15 s, 10 s and 2 s as Kubernetes does.
func (l Lease) WithDefaults() Lease {
	if l.Duration == 0 {
		l.Duration = 15 * time.Second
	}
	if l.RenewDeadline == 0 {
		l.RenewDeadline = l.Duration * 2 / 3
	}
	if l.RetryPeriod == 0 {
		l.RetryPeriod = l.Duration * 2 / 15
	}
	return l
}

// lead calls term for each term that this process gets, until ctx ends. The
// context of a term ends when the Lease is lost. When term returns, the Lease is
// given up and an election begins: the elector can lose the Lease and win it
// back without saying so, and must not keep it for a term that has ended.
func (l Lease) lead(ctx context.Context, client kubernetes.Interface, term func(context.Context)) error {
	for ctx.Err() == nil {
		var running sync.WaitGroup
		begin := make(chan context.Context, 1)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: l.Identity},
			},
			LeaseDuration: l.Duration, RenewDeadline: l.RenewDeadline, RetryPeriod: l.RetryPeriod,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				// The elector calls this in a goroutine that it never waits for, so
				// it only hands over the term's context.
				OnStartedLeading: func(ctx context.Context) { begin <- ctx },
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return fmt.Errorf("elect a leader by lease %s/%s: %w", l.Namespace, l.Name, err)
		}
		electing, stop := context.WithCancel(ctx)
		running.Go(func() {
			select {
			case ctx := <-begin:
				term(ctx)
				stop()
			case <-electing.Done():
			}
		})
		elector.Run(electing)
		stop()
		running.Wait()
		sleep(ctx, l.RetryPeriod)
	}
	return nil
}

// errTermOver means that the Lease names another term than ours.
var errTermOver = errors.New("the lease has passed to another term")

// fence is one term of the Lease: this holder, for the n-th time, of this object.
type fence struct {
	client      kubernetes.Interface
	lease       Lease
	uid         types.UID
	transitions int32
}

// newFence reads the term that has just begun.
func newFence(ctx context.Context, client kubernetes.Interface, lease Lease) (*fence, error) {
	f := &fence{client: client, lease: lease}
	uid, transitions, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	f.uid, f.transitions = uid, transitions
	return f, nil
}

// check asks the API server, not a cache, whether the term is still on.
func (f *fence) check(ctx context.Context) error {
	uid, transitions, err := f.read(ctx)
	if err != nil {
		return err
	}
	if uid != f.uid || transitions != f.transitions {
		return errTermOver
	}
	return nil
}

func (f *fence) read(ctx context.Context) (types.UID, int32, error) {
	// Without a resourceVersion a get is answered from the store by quorum.
	lease, err := f.client.CoordinationV1().Leases(f.lease.Namespace).Get(ctx, f.lease.Name, metav1.GetOptions{})
	if err != nil {
		return "", 0, fmt.Errorf("read lease %s/%s: %w", f.lease.Namespace, f.lease.Name, err)
	}
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder != f.lease.Identity {
		return "", 0, errTermOver
	}
	var transitions int32
	if lease.Spec.LeaseTransitions != nil {
		transitions = *lease.Spec.LeaseTransitions
	}
	return lease.UID, transitions, nil
}

// name tells the term from all others; it is what pods are fenced with.
func (f *fence) name() string {
	return fmt.Sprintf("%d.%s", f.transitions, f.lease.Identity)
}
