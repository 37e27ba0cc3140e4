package pace

import (
	"math/rand/v2"
	"time"
)

// Schedule yields the instants of a run's requests in order, as times since its
// start, until either bound is reached.
type Schedule struct {
	curve    Curve
	gap      func() float64 // requests' worth of the curve until the next one
	position float64
	left     uint64
	end      time.Duration
}

// Bounds end a schedule: no request is due at or after End, and there are no
// more than Count of them.
type Bounds struct {
	End   time.Duration
	Count uint64
}

// Even is a schedule whose n-th request (n = 0, 1, ...) is due exactly when the
// curve has n requests due: the first at once.
func Even(curve Curve, bounds Bounds) *Schedule {
	return &Schedule{curve: curve, gap: func() float64 { return 1 }, left: bounds.Count, end: bounds.End}
}

// Poisson is a schedule of independent arrivals whose mean rate is the curve's:
// a unit Poisson process (gaps -ln(1-U), U uniform in [0,1)) read through the
// curve. One seed gives one schedule, everywhere and always.
func Poisson(curve Curve, bounds Bounds, seed uint64) *Schedule {
	random := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	s := &Schedule{curve: curve, gap: random.ExpFloat64, left: bounds.Count, end: bounds.End}
	s.position = s.gap()
	return s
}

// Next is the instant of the next request; ok is false when there is none left.
func (s *Schedule) Next() (at time.Duration, ok bool) {
	if s.left == 0 {
		return 0, false
	}
	at = s.curve.At(s.position)
	if at >= s.end {
		s.left = 0
		return 0, false
	}
	s.left--
	s.position += s.gap()
	return at, true
}
