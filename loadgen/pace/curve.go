// Package pace computes when requests are due. It is arithmetic only, so that
// the instants of a run are known before it starts and cannot depend on how the
// system under test behaves: that is what makes a load open loop.
package pace

import (
	"math"
	"time"
)

// Curve tells at which time after the start a number of requests is due: the
// inverse of the integral of the rate. x need not be whole.
type Curve interface {
	At(x float64) time.Duration
}

// Constant is a steady rate in requests per second:
//
//	due(t) = rate t,  so  t(x) = x / rate
type Constant float64

// At is the time at which x requests are due. Times beyond the range of
// time.Duration (292 years), and any time at a rate of 0, are Never.
func (rate Constant) At(x float64) time.Duration {
	return seconds(x / float64(rate))
}

// Linear is a rate that moves from one value to another in a straight line and
// stays at the second one. Rates are in requests per second and not negative.
//
//	rate(t) = from + a t                      for t <= over, a = (to-from)/over
//	due(t)  = from t + a t^2/2
//	t(x)    = 2 x / (from + sqrt(from^2 + 2 a x))
//
// The last line is the solution of the quadratic in the form that neither
// subtracts nearly equal numbers nor divides by 0 for a = 0.
type Linear struct {
	From, To float64
	Over     time.Duration
}

// At is the time at which x requests are due, or Never when a falling rate has
// reached 0 before.
func (l Linear) At(x float64) time.Duration {
	over := l.Over.Seconds()
	ramp := (l.From + l.To) / 2 * over // requests due at the end of the ramp
	if x > ramp {
		return seconds(over + (x-ramp)/l.To)
	}
	if x == 0 {
		return 0 // 0/0 when the ramp starts at 0
	}
	return seconds(2 * x / (l.From + l.root((l.To-l.From)/over*2*x)))
}

// root is sqrt(from^2 + b) without the overflow of the square. Rounding can make
// the sum negative at the very end of a ramp to 0.
func (l Linear) root(b float64) float64 {
	if b >= 0 {
		return math.Hypot(l.From, math.Sqrt(b))
	}
	return l.From * math.Sqrt(max(0, 1+b/l.From/l.From))
}

// Never is the time of requests that are not due within 292 years.
const Never = time.Duration(math.MaxInt64)

// seconds converts without the overflow of a plain conversion, whose result is
// undefined for values out of range.
func seconds(s float64) time.Duration {
	ns := math.Round(s * float64(time.Second))
	if !(ns < float64(math.MaxInt64)) { // also for NaN
		return Never
	}
	return time.Duration(max(ns, 0))
}
