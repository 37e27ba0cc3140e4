package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"secondhop/clusters/netns"
	"secondhop/internal/cleanup"
	"secondhop/internal/failure"
)

// Insider is a namespace on the lab's network: a node or the client.
type Insider struct{ Name, NetNS string }

// Attempt is one try to get out of the lab.
type Attempt struct {
	From string
	// Err is how it failed; nil would mean that it got out.
	Err error
	// Took is the time until it failed: a refusal is at once, a drop is not.
	Took time.Duration
}

// outside is the stand-in for the rest of the world: a namespace on this host,
// behind a veth of its own, with addresses that are set aside for documentation
// (RFC 5737) and listens there. No real outside address is ever tried.
type outside struct {
	namespace string
	listener  net.Listener
	address   netip.AddrPort
}

const (
	outsideName   = "secondhop-outside"
	outsideDevice = "sh-outside"
)

// Prove dials the stand-in for the outside from every insider. It returns what
// happened, and an error unless each attempt was refused at once and the guard's
// packet counter shows it.
func (n Network) Prove(ctx context.Context, insiders ...Insider) ([]Attempt, error) {
	var attempts []Attempt
	err := withOutside(ctx, func(world outside) error {
		before, err := n.Guard().Refused(ctx)
		if err != nil {
			return err
		}
		for _, insider := range insiders {
			attempts = append(attempts, world.dialFrom(ctx, insider))
		}
		after, err := n.Guard().Refused(ctx)
		if err != nil {
			return err
		}
		return judge(attempts, after-before)
	})
	return attempts, err
}

// withOutside calls fn with a stand-in for the outside that lasts as long as fn.
func withOutside(ctx context.Context, fn func(outside) error) (err error) {
	var stack cleanup.Stack
	defer func() { err = errors.Join(err, stack.Run(ctx, 10*time.Second)) }()
	world, err := makeOutside(ctx, &stack)
	if err != nil {
		return fmt.Errorf("make a stand-in for the outside: %w", err)
	}
	return fn(world)
}

// atOnce is far above what a local refusal takes on a busy machine, and far below
// the second after which TCP tries again.
const atOnce = 500 * time.Millisecond

func judge(attempts []Attempt, refused uint64) error {
	for _, attempt := range attempts {
		switch {
		case attempt.Err == nil:
			return failure.Infra(fmt.Errorf("%s reached an address outside the lab", attempt.From), "secondhop down, then secondhop up")
		case !errors.Is(attempt.Err, unix.ECONNREFUSED) && !errors.Is(attempt.Err, unix.EHOSTUNREACH) && !errors.Is(attempt.Err, unix.ENETUNREACH):
			return fmt.Errorf("%s was not refused but failed: %w", attempt.From, attempt.Err)
		case attempt.Took > atOnce:
			return fmt.Errorf("%s was refused only after %s", attempt.From, attempt.Took.Round(time.Millisecond))
		}
	}
	if refused < uint64(len(attempts)) {
		return fmt.Errorf("the guard counted %d refusals for %d attempts", refused, len(attempts))
	}
	return nil
}

func (o outside) dialFrom(ctx context.Context, insider Insider) Attempt {
	start := time.Now()
	err := netns.Do(insider.NetNS, func() error {
		dialer := net.Dialer{Timeout: 3 * time.Second}
		conn, err := dialer.DialContext(ctx, "tcp4", o.address.String())
		if err == nil {
			conn.Close()
		}
		return err
	})
	return Attempt{From: insider.Name, Err: err, Took: time.Since(start)}
}

func makeOutside(ctx context.Context, stack *cleanup.Stack) (outside, error) {
	world := outside{namespace: "/run/netns/" + outsideName}
	stack.Push("outside namespace", func(context.Context) error { return removeOutside() })
	if err := removeOutside(); err != nil { // what a killed run may have left
		return world, err
	}
	err := netns.Do(netns.Host, func() error {
		handle, err := vnetns.NewNamed(outsideName)
		if err != nil {
			return err
		}
		return handle.Close()
	})
	if err != nil {
		return world, err
	}
	if err := connectOutside(world.namespace); err != nil {
		return world, err
	}
	err = netns.Do(world.namespace, func() (err error) {
		world.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", "203.0.113.2:0")
		return err
	})
	if err != nil {
		return world, err
	}
	stack.Push("outside listener", func(context.Context) error { return world.listener.Close() })
	world.address = world.listener.Addr().(*net.TCPAddr).AddrPort()
	return world, nil
}
