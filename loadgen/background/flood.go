// Package background makes and takes traffic that is not requests: a steady
// stream of bytes into a node, so that hop two has a wanted share of what comes in.
package background

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/units"
	"secondhop/loadgen/address"
	"secondhop/loadgen/pace"
)

// Bounds of every flood.
const (
	MaxRate     = 1 * units.Gigabit // per target
	MaxDuration = 10 * time.Minute
	MaxTargets  = 64
)

// segment is the data of a full TCP segment at an MTU of 1500 with timestamps.
// Whole segments keep the ratio of data to bytes on the wire at 1448 : 1514.
const segment = 1448

// Flood is a stream of bytes at an exact rate to each of some targets.
type Flood struct {
	To       []string      // literal addresses, see package address
	Rate     units.BitRate // of data to each target; on the wire 1514/1448 of it
	Duration time.Duration
}

// Result is what one stream did.
type Result struct {
	To      string        `json:"to"`
	Bytes   units.Bytes   `json:"bytes"` // taken by the kernel
	Elapsed time.Duration `json:"elapsed"`
	Rate    units.BitRate `json:"rate"`  // achieved
	Error   string        `json:"error"` // why it ended early
}

// Validate checks the bounds and lists everything that is wrong.
func (f Flood) Validate() error {
	var faults []error
	if len(f.To) == 0 || len(f.To) > MaxTargets {
		faults = append(faults, fmt.Errorf("--to: %d targets; 1 to %d are wanted", len(f.To), MaxTargets))
	}
	for _, to := range f.To {
		if _, err := address.Parse(to); err != nil {
			faults = append(faults, fmt.Errorf("--to: %w", err))
		}
	}
	if f.Rate <= 0 || f.Rate > MaxRate {
		faults = append(faults, fmt.Errorf("--rate: %s is not within 1bit and %s", f.Rate, MaxRate))
	}
	if f.Duration <= 0 || f.Duration > MaxDuration {
		faults = append(faults, fmt.Errorf("--duration: %s is not within 0 and %s", f.Duration, MaxDuration))
	}
	return failure.Input(errors.Join(faults...), "")
}

// Run sends to all targets at once until the duration is over or ctx ends, which
// is no error. Sent counts the bytes of all streams as they go. A stream that
// cannot be opened or breaks is in its result and in the error.
func (f Flood) Run(ctx context.Context, sent *atomic.Int64) ([]Result, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	results := make([]Result, len(f.To))
	var streams sync.WaitGroup
	for i, to := range f.To {
		streams.Go(func() { results[i] = f.stream(ctx, to, sent) })
	}
	streams.Wait()
	var broken []error
	for _, r := range results {
		if r.Error != "" {
			broken = append(broken, fmt.Errorf("flood %s: %s", r.To, r.Error))
		}
	}
	return results, failure.Infra(errors.Join(broken...), "start `loadgen sink` there first")
}

// stream sends to one target. Its error becomes part of the result.
func (f Flood) stream(ctx context.Context, text string, sent *atomic.Int64) Result {
	result := Result{To: text}
	to, err := address.Parse(text)
	if err != nil {
		result.Error = err.Error()
		return result
	}
	opening, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := address.Dial(opening, to)
	if err == nil {
		defer conn.Close()
		start := time.Now()
		result.Bytes, err = f.send(ctx, conn, sent)
		result.Elapsed = time.Since(start)
		result.Rate = units.RateOf(result.Bytes, result.Elapsed)
	}
	if err != nil && ctx.Err() == nil {
		result.Error = err.Error()
	}
	return result
}

// send writes whole segments, each batch at the instant at which its last byte
// is due, so that the mean rate is exact over any time longer than a batch. When
// the network takes less than the rate, what is due piles up to one socket buffer
// and the achieved rate shows the rest.
func (f Flood) send(ctx context.Context, conn *net.TCPConn, sent *atomic.Int64) (units.Bytes, error) {
	timer, err := pace.NewTimer()
	if err != nil {
		return 0, err
	}
	defer timer.Close()
	defer context.AfterFunc(ctx, timer.Interrupt)()
	defer context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })()
	// A peer that takes nothing must not hold the flood beyond its duration.
	start := pace.Monotonic()
	if err := conn.SetWriteDeadline(time.Now().Add(f.Duration + time.Second)); err != nil {
		return 0, err
	}
	batch := make([]byte, batchBytes(f.Rate))
	total := units.Bytes(0)
	for {
		due := f.due(total + units.Bytes(len(batch)))
		if due > f.Duration {
			return total, nil
		}
		if err := timer.Until(start + due); err != nil {
			return total, err
		}
		n, err := conn.Write(batch)
		total += units.Bytes(n)
		sent.Add(int64(n))
		if err != nil {
			return total, err
		}
	}
}

// due is when the byte number n has to have been sent: n 8 / rate.
func (f Flood) due(n units.Bytes) time.Duration {
	return pace.Constant(float64(f.Rate) / 8).At(float64(n))
}

// batchPeriod is how far apart writes are, where whole segments allow it.
const batchPeriod = 2 * time.Millisecond

// batchBytes is the data of one write: the whole segments nearest to a period's
// worth, one at least.
func batchBytes(rate units.BitRate) int {
	segments := (int(rate.BytesIn(batchPeriod)) + segment/2) / segment
	return max(1, segments) * segment
}
