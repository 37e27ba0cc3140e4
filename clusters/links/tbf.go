package links

import (
	"fmt"
	"math"
	"time"

	"secondhop/internal/units"
)

// The rates that can be shaped: below the first a kubelet's own traffic fills the
// link, above the second one machine cannot carry the load that would fill it.
const (
	MinRate = units.Megabit
	MaxRate = 40 * units.Gigabit
)

// queueTime is how much traffic a shaped link holds back before it drops, in
// time at its rate; the queue of a real network card is of this order.
const queueTime = 25 * time.Millisecond

// Tbf holds the parameters of one token bucket filter, in the units of the
// kernel's documentation.
type Tbf struct {
	Rate units.BitRate
	// Burst is the depth of the bucket: how much may leave at once.
	Burst units.Bytes
	// Limit is how much may wait for tokens, bucket included; what is more is dropped.
	Limit units.Bytes
}

// Params chooses burst and limit for a rate.
//
// The bucket must hold a whole GSO packet (64 KiB), or the filter cuts each one
// up, and it must bridge the gaps between two timer interrupts, which are one to
// two milliseconds on a busy machine. So: 128 KiB below 1 Gb/s (there that is
// more than a millisecond of the rate), and two milliseconds of the rate, rounded
// up to 64 KiB, from 1 Gb/s on (256 KiB at 1 Gb/s).
func Params(rate units.BitRate) Tbf {
	const step = 64 * units.Kibibyte
	burst := 128 * units.Kibibyte
	if rate >= units.Gigabit {
		two := rate.BytesIn(2 * time.Millisecond)
		burst = (two + step - 1) / step * step
	}
	return Tbf{Rate: rate, Burst: burst, Limit: rate.BytesIn(queueTime) + burst}
}

// ValidateRate says whether a link can be shaped to rate.
func ValidateRate(rate units.BitRate) error {
	if rate < MinRate || rate > MaxRate {
		return fmt.Errorf("link rate %s: it must be between %s and %s", rate, MinRate, MaxRate)
	}
	return nil
}

// psched is the clock in which the kernel's packet schedulers count: it hands out
// and takes back durations in ticks of 2^6 ns (PSCHED_SHIFT in
// include/net/pkt_sched.h), whatever the timer frequency. /proc/net/psched shows
// the same figure (0x40) as the number of nanoseconds per tick.
const nanosecondsPerTick = 64

// bufferTicks is the burst as netlink wants it: the time that the bucket lasts
// at the full rate, in psched ticks, rounded down as tc does. The kernel holds
// it in 32 bits, which is 274 s; at MinRate the largest bucket lasts 1.05 s.
func (t Tbf) bufferTicks() (uint32, error) {
	seconds := float64(t.Burst) * 8 / float64(t.Rate)
	ticks := math.Floor(seconds * 1e9 / nanosecondsPerTick)
	if t.Rate == 0 || ticks > math.MaxUint32 {
		return 0, fmt.Errorf("a bucket of %s at %s lasts longer than the kernel can count", t.Burst, t.Rate)
	}
	return uint32(ticks), nil
}

// burstOf is the inverse of bufferTicks: the bucket that the kernel reports, in
// bytes. It differs from what was asked for by less than the bytes of two ticks.
func burstOf(rate units.BitRate, ticks uint32) units.Bytes {
	seconds := float64(ticks) * nanosecondsPerTick / 1e9
	return units.Bytes(math.Round(seconds * float64(rate) / 8))
}

// sameAs says whether what the kernel reports is what was asked for: rate (which
// the kernel holds in bytes per second) and limit exactly, the burst within what
// rounding to ticks can change.
func (t Tbf) sameAs(reported Tbf) bool {
	tick := float64(t.Rate) / 8 * nanosecondsPerTick / 1e9
	slack := 1 + 2*tick
	return t.Rate/8 == reported.Rate/8 && t.Limit == reported.Limit &&
		math.Abs(float64(t.Burst-reported.Burst)) <= slack
}

// String is the filter as tc would be told it.
func (t Tbf) String() string {
	return fmt.Sprintf("tbf rate %s burst %s limit %s", t.Rate, t.Burst, t.Limit)
}
