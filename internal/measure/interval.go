package measure

import (
	"fmt"
	"math"
)

// Share is a count out of a count: Hits of N requests.
type Share struct {
	Hits int64 `json:"hits"`
	N    int64 `json:"n"`
}

// Ratio is Hits of N, and NaN when nothing was observed.
func (s Share) Ratio() float64 {
	if s.N == 0 {
		return math.NaN()
	}
	return float64(s.Hits) / float64(s.N)
}

// Plus is both counts together.
func (s Share) Plus(other Share) Share { return Share{s.Hits + other.Hits, s.N + other.N} }

// Interval is a range of values, both ends included.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Contains reports whether v is in the interval; NaN is in none.
func (i Interval) Contains(v float64) bool { return v >= i.Low && v <= i.High }

// String is "low..high" with four decimals.
func (i Interval) String() string { return fmt.Sprintf("%.4f..%.4f", i.Low, i.High) }

// Wilson is the score interval of the share at the given confidence, such as
// 0.95 (Wilson 1927). It stays within [0, 1] and is sound for 0 of N and N of N;
// with nothing observed it is [0, 1].
func (s Share) Wilson(confidence float64) Interval {
	if s.N == 0 {
		return Interval{0, 1}
	}
	n, p := float64(s.N), s.Ratio()
	z := normalQuantile(1 - (1-confidence)/2)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	interval := Interval{math.Max(0, middle-half), math.Min(1, middle+half)}
	// Rounding must not exclude what was seen.
	if s.Hits == 0 {
		interval.Low = 0
	}
	if s.Hits == s.N {
		interval.High = 1
	}
	return interval
}

// UpperBound is the exact (Clopper-Pearson) one-sided bound on the probability
// behind the share: with the given confidence it is not higher. For 0 of N and
// 0.95 it is 1-0.05^(1/N), about 3/N.
func (s Share) UpperBound(confidence float64) float64 {
	if s.N == 0 || s.Hits >= s.N {
		return 1
	}
	if s.Hits == 0 {
		return -math.Expm1(math.Log(1-confidence) / float64(s.N))
	}
	low, high := s.Ratio(), 1.0
	// cdf falls with p; 60 halvings leave 1e-18 of the range.
	for range 60 {
		middle := (low + high) / 2
		if cdf(s.Hits, s.N, middle) > 1-confidence {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
