package links

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// Endpoint is one end of a calibration transfer: a network namespace of the lab
// and the address at which it can be reached from the others.
type Endpoint struct {
	Name    string
	NetNS   string
	Address netip.Addr
}

// Direction is a link's direction as its node sees it.
type Direction string

// The two directions of a link.
const (
	In  Direction = "in"
	Out Direction = "out"
)

// Goodput is what one direction of one link carried during its transfer.
type Goodput struct {
	Node      string        `json:"node"`
	Direction Direction     `json:"direction"`
	Rate      units.BitRate `json:"rate"`  // shaped to
	Ideal     units.BitRate `json:"ideal"` // goodput to expect, see GoodputShare
	Measured  units.BitRate `json:"measured"`
	// Wire is the rate of the filter's own byte counter over the same time, frames
	// with headers: the second view of the same link.
	Wire units.BitRate `json:"wire"`
	// Drops are the frames that the filter dropped, which is how TCP finds the rate.
	Drops uint32 `json:"drops"`
	// Congestion is the sender's congestion control algorithm.
	Congestion string `json:"congestion"`
	// Window is how long was measured, after the warm-up.
	Window time.Duration `json:"window"`
	// HostIdle is the idle share of all processors meanwhile, 0 to 1.
	HostIdle float64 `json:"hostIdle"`
}

// Ratio is measured over ideal; 1 is a perfect link.
func (g Goodput) Ratio() float64 { return float64(g.Measured) / float64(g.Ideal) }

// Calibration is the result for all links; it is stored with the run.
type Calibration struct {
	At       time.Time `json:"at"`
	Goodputs []Goodput `json:"goodputs"`
}

// Tolerance is how far from the ideal a link may be and still carry a verdict
// about bandwidth.
const Tolerance = 0.01

// MinIdle is the share of idle processor time below which the machine, and not
// the link, may have been what limited a transfer.
const MinIdle = 0.15

// Verdict is nil when every direction is within Tolerance of its ideal. Otherwise
// it names the worst one, and says whether the processors may be to blame.
func (c Calibration) Verdict() error {
	var worst *Goodput
	for i := range c.Goodputs {
		g := &c.Goodputs[i]
		if math.Abs(g.Ratio()-1) > Tolerance && (worst == nil || math.Abs(g.Ratio()-1) > math.Abs(worst.Ratio()-1)) {
			worst = g
		}
	}
	switch {
	case len(c.Goodputs) == 0:
		return failure.Infra(errors.New("no link was calibrated"), "")
	case worst == nil:
		return nil
	}
	cure := "see that nothing else sends on the lab's links, then run secondhop links calibrate"
	if worst.HostIdle < MinIdle {
		cure = "the processors were busy: end other work on this machine, or use slower links (--link 250mbit)"
	}
	return failure.Infra(fmt.Errorf("the link of %s, %s, shaped to %s, carries %s where %s are possible (%.1f %%; %.0f %% of the processors idle)",
		worst.Node, worst.Direction, worst.Rate, megabits(worst.Measured), megabits(worst.Ideal), worst.Ratio()*100, worst.HostIdle*100), cure)
}

func megabits(rate units.BitRate) string {
	return fmt.Sprintf("%.1f Mb/s", float64(rate)/float64(units.Megabit))
}

// Plan bounds each transfer in time; its bytes are bounded by the link.
type Plan struct {
	// WarmUp lets the bucket run empty and TCP find the rate before measuring.
	WarmUp time.Duration
	// Window is how long is measured.
	Window time.Duration
}

// DefaultPlan takes two seconds for each direction of each link.
func DefaultPlan() Plan { return Plan{WarmUp: 500 * time.Millisecond, Window: 1500 * time.Millisecond} }

// Calibrate measures the TCP goodput of every node's link, one direction after the
// other, against peer, whose own link must be faster than theirs. The traffic
// stays between the namespaces of the lab. Each node must be shaped.
func Calibrate(ctx context.Context, peer Endpoint, nodes []Endpoint, plan Plan) (Calibration, error) {
	result := Calibration{At: time.Now()}
	for _, node := range nodes {
		link, err := OpenAt(node.Name, node.NetNS)
		if err != nil {
			return result, err
		}
		for _, direction := range []Direction{In, Out} {
			goodput, err := calibrateOne(ctx, link, peer, node, direction, plan)
			if err != nil {
				link.Close()
				return result, fmt.Errorf("calibrate the link of %s, %s: %w", node.Name, direction, err)
			}
			result.Goodputs = append(result.Goodputs, goodput)
		}
		link.Close()
	}
	return result, nil
}

func calibrateOne(ctx context.Context, link *Link, peer, node Endpoint, direction Direction, plan Plan) (Goodput, error) {
	in, out, err := link.Filters()
	if err != nil {
		return Goodput{}, err
	}
	from, to, end, rate := peer, node, link.in, in.Rate
	if direction == Out {
		from, to, end, rate = node, peer, link.out, out.Rate
	}
	if rate == 0 {
		return Goodput{}, errNotShaped()
	}
	transfer, err := send(ctx, from, to, plan, func() (Counter, error) { return end.counter() })
	if err != nil {
		return Goodput{}, err
	}
	return Goodput{
		Node: node.Name, Direction: direction, Rate: rate, Ideal: Ideal(rate),
		Measured:   units.RateOf(transfer.bytes, transfer.window),
		Wire:       units.RateOf(transfer.wire.Bytes, transfer.window),
		Drops:      transfer.wire.Drops,
		Congestion: transfer.congestion, Window: transfer.window, HostIdle: transfer.idle,
	}, nil
}
