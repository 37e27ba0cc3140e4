package links

import (
	"context"
	"fmt"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// Counter is what has left one end of a link since it was shaped. Bytes are those
// of frames with their Ethernet header. The kernel counts packets and drops in 32
// bits; Sub takes care of their wrapping.
type Counter struct {
	Bytes   units.Bytes `json:"bytes"`
	Packets uint32      `json:"packets"`
	Drops   uint32      `json:"drops"`
}

// Sub is what was counted between an earlier reading and c.
func (c Counter) Sub(earlier Counter) Counter {
	return Counter{c.Bytes - earlier.Bytes, c.Packets - earlier.Packets, c.Drops - earlier.Drops}
}

// Counters are the two directions of a node's link, as the node sees them.
type Counters struct {
	// At is when they were read.
	At  time.Time `json:"at"`
	In  Counter   `json:"in"`
	Out Counter   `json:"out"`
}

// Counters reads both filters. A link that is not shaped has none to read, which
// is an error: a zero would pass for a quiet link.
func (l *Link) Counters() (Counters, error) {
	counters := Counters{At: time.Now()}
	for _, direction := range []struct {
		name string
		end  end
		into *Counter
	}{{"into it", l.in, &counters.In}, {"out of it", l.out, &counters.Out}} {
		counter, err := direction.end.counter()
		if err != nil {
			return Counters{}, fmt.Errorf("count bytes of %s, %s: %w", l.node, direction.name, err)
		}
		*direction.into = counter
	}
	return counters, nil
}

func (e end) counter() (Counter, error) {
	root, err := e.root()
	if err != nil {
		return Counter{}, err
	}
	if root == nil || root.Statistics == nil {
		return Counter{}, errNotShaped()
	}
	basic, queue := root.Statistics.Basic, root.Statistics.Queue
	return Counter{units.Bytes(basic.Bytes), basic.Packets, queue.Drops}, nil
}

func errNotShaped() error {
	return failure.Infra(fmt.Errorf("the link is not shaped"), "secondhop up shapes the links again")
}

// Shape shapes the links of the nodes, in order, all alike.
func Shape(ctx context.Context, rates Rates, nodes ...string) error {
	return with(ctx, nodes, func(l *Link) error { return l.Shape(rates) })
}

// Clear takes the shaping of the nodes' links away.
func Clear(ctx context.Context, nodes ...string) error {
	return with(ctx, nodes, (*Link).Clear)
}

// ReadBack reports what each node's link is shaped to.
func ReadBack(ctx context.Context, nodes ...string) (map[string]Rates, error) {
	rates := map[string]Rates{}
	err := with(ctx, nodes, func(l *Link) error {
		in, out, err := l.Filters()
		rates[l.node] = Rates{In: in.Rate, Out: out.Rate}
		return err
	})
	return rates, err
}

// Read reads the counters of each node's link.
func Read(ctx context.Context, nodes ...string) (map[string]Counters, error) {
	counters := map[string]Counters{}
	err := with(ctx, nodes, func(l *Link) (err error) {
		counters[l.node], err = l.Counters()
		return err
	})
	return counters, err
}

func with(ctx context.Context, nodes []string, do func(*Link) error) error {
	for _, node := range nodes {
		link, err := Open(ctx, node)
		if err != nil {
			return err
		}
		err = do(link)
		link.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
