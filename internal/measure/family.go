package measure

import (
	"fmt"
	"math"
)

// Family is all statistical tests that are made in one run of a suite. Their
// number is fixed before the run, so that the chance that a correct system turns
// any of them red is at most Alpha, whatever the tests have in common (Bonferroni).
//
// The model of a test is the binomial with independent requests. That is exact
// for the draw of one node, since it is one random number per request, and
// conservative everywhere else: requests that enter at different nodes have
// different probabilities, and what spills is dealt out in turn instead of at
// random; both only take variance away. So a correct system is red less often
// than Alpha says, and a broken one is caught at least as often as Power says.
// It is not conservative where requests share one random choice, as on a
// keep-alive connection that kube-proxy pinned to a pod: such strategies must be
// measured with a connection per request.
type Family struct {
	// Alpha is the chance of a false alarm in a whole run.
	Alpha float64 `json:"alpha"`
	// Tests is the number of tests among which Alpha is divided.
	Tests int `json:"tests"`
	// ShareOff is the error of a share, absolute, that must not escape.
	ShareOff float64 `json:"shareOff"`
	// PodOff is the error of one pod's load, relative, that must not escape.
	PodOff float64 `json:"podOff"`
	// MinPower is the least chance of catching such an error. A test that passes
	// with less is inconclusive: it has too few requests to say anything.
	MinPower float64 `json:"minPower"`
}

// DefaultFamily is what the end-to-end suite uses: one false alarm in 1,000 runs
// divided among 500 tests; shares off by 3 points and pods off by 15 % are caught
// with a probability of 90 % at least by each single test, and so nearly always by
// the several tests that an error touches: the draw, the answering pods, the whole.
func DefaultFamily() Family {
	return Family{Alpha: 0.001, Tests: 500, ShareOff: 0.03, PodOff: 0.15, MinPower: 0.9}
}

// Validate says what is wrong with the family, or nil.
func (f Family) Validate() error {
	if !(f.Alpha > 0 && f.Alpha < 1) || f.Tests < 1 || !(f.MinPower >= 0 && f.MinPower < 1) || f.ShareOff < 0 || f.PodOff < 0 {
		return fmt.Errorf("test family %+v: alpha must be in (0,1), tests at least 1, minimum power in [0,1)", f)
	}
	return nil
}

// Level is the chance of a false alarm of a single two-sided test.
func (f Family) Level() float64 { return f.Alpha / float64(max(f.Tests, 1)) }

// acceptance is the range of counts that a two-sided exact test at the level
// accepts for n requests of probability p: on either side the counts outside
// have a probability of at most half the level.
func acceptance(n int64, p, level float64) (low, high int64) {
	low = least(0, n, func(k int64) bool { return cdf(k, n, p) > level/2 })
	// P(X >= high+1) must be at most half the level.
	high = least(0, n, func(k int64) bool { return tail(k+1, n, p) <= level/2 })
	return low, high
}

// Accept is the range of shares that a test of the family accepts for n requests
// when p is right.
func (f Family) Accept(n int64, p float64) Interval {
	if n == 0 {
		return Interval{0, 1}
	}
	low, high := acceptance(n, p, f.Level())
	return Interval{float64(low) / float64(n), float64(high) / float64(n)}
}

// Power is the chance that a test of n requests against share p turns red when
// the share really is actual.
func (f Family) Power(n int64, p, actual float64) float64 {
	if n == 0 {
		return 0
	}
	low, high := acceptance(n, p, f.Level())
	return cdf(low-1, n, actual) + tail(high+1, n, actual)
}

// PowerOff is the power against a share that is off by the given amount, in the
// direction in which that is harder to see; errors beyond 0 or 1 do not exist.
func (f Family) PowerOff(n int64, p, off float64) float64 {
	power := 1.0
	for _, actual := range [2]float64{p - off, p + off} {
		if actual >= 0 && actual <= 1 {
			power = math.Min(power, f.Power(n, p, actual))
		}
	}
	return power
}

// RequiredN is the number of requests from which a share that is off by the given
// amount is caught with at least the given power (nearly the least: power is not quite monotonic in counts).
func (f Family) RequiredN(p, off, power float64) int64 {
	const most = int64(1) << 40
	enough := func(n int64) bool { return f.PowerOff(n, p, off) >= power }
	high := int64(16)
	for !enough(high) {
		if high *= 2; high >= most {
			return most
		}
	}
	low := high / 2
	// Power has teeth of single counts; a step of 0.1 % is coarser than they are.
	for step := max(1, high/1000); high-low > step; {
		if middle := (low + high) / 2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
