package pace

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const unbounded = math.MaxUint64

func all(s *Schedule) []time.Duration {
	var instants []time.Duration
	for at, ok := s.Next(); ok; at, ok = s.Next() {
		instants = append(instants, at)
	}
	return instants
}

func TestEven(t *testing.T) {
	t.Parallel()
	instants := all(Even(Constant(4), Bounds{End: time.Second, Count: unbounded}))
	assert.Equal(t, []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond}, instants)
	assert.Len(t, all(Even(Constant(4), Bounds{End: time.Second, Count: 3})), 3)
	assert.Empty(t, all(Even(Constant(4), Bounds{Count: unbounded})))
	assert.Empty(t, all(Even(Constant(4), Bounds{End: time.Second})))
	assert.Empty(t, all(Even(Constant(0), Bounds{End: time.Hour, Count: 5})))
	assert.Len(t, all(Even(Linear{From: 0, To: 100, Over: 10 * time.Second}, Bounds{End: 10 * time.Second, Count: unbounded})), 500)
}

func TestEvenHasExactlyTheOfferedNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := float64(rapid.IntRange(1, 50000).Draw(t, "rate"))
		seconds := rapid.IntRange(1, 3).Draw(t, "seconds")
		s := Even(Constant(rate), Bounds{End: time.Duration(seconds) * time.Second, Count: unbounded})
		n, last := 0, time.Duration(-1)
		for at, ok := s.Next(); ok; at, ok = s.Next() {
			if at <= last {
				t.Fatalf("request %d at %s after %s", n, at, last)
			}
			n, last = n+1, at
		}
		if n != int(rate)*seconds {
			t.Fatalf("%d requests, want %d", n, int(rate)*seconds)
		}
	})
}

func TestPoissonIsReproducible(t *testing.T) {
	t.Parallel()
	bounds := Bounds{End: time.Second, Count: unbounded}
	first := all(Poisson(Constant(1000), bounds, 7))
	assert.Equal(t, first, all(Poisson(Constant(1000), bounds, 7)))
	assert.NotEqual(t, first, all(Poisson(Constant(1000), bounds, 8)))
	_, ok := Poisson(Constant(0), bounds, 7).Next()
	assert.False(t, ok)
}

// TestPoissonGaps compares the gaps with the exponential distribution: its mean
// and standard deviation are both 1/rate, and exp(-1) of all gaps exceed the mean.
// With the seed given the figures are always the same; the bounds are 4 standard
// errors of 100,000 gaps.
func TestPoissonGaps(t *testing.T) {
	t.Parallel()
	const n, rate = 100_000, 1000.0
	instants := all(Poisson(Constant(rate), Bounds{End: time.Hour, Count: n}, 1))
	require.Len(t, instants, n)
	sum, squares, above, last := 0.0, 0.0, 0, time.Duration(0)
	for _, at := range instants {
		gap := (at - last).Seconds() * rate
		last = at
		sum += gap
		squares += gap * gap
		if gap > 1 {
			above++
		}
	}
	mean := sum / n
	assert.InDelta(t, 1, mean, 4/math.Sqrt(n))
	assert.InDelta(t, 1, math.Sqrt(squares/n-mean*mean), 4*math.Sqrt2/math.Sqrt(n))
	assert.InDelta(t, math.Exp(-1), float64(above)/n, 4*math.Sqrt(math.Exp(-1)*(1-math.Exp(-1))/n))
}

func TestPoissonFollowsARamp(t *testing.T) {
	t.Parallel()
	curve := Linear{From: 0, To: 2000, Over: 10 * time.Second} // 10,000 requests, a quarter in the first half
	instants := all(Poisson(curve, Bounds{End: 10 * time.Second, Count: unbounded}, 3))
	early := 0
	for _, at := range instants {
		if at < 5*time.Second {
			early++
		}
	}
	assert.InDelta(t, 10_000, len(instants), 4*math.Sqrt(10_000))
	assert.InDelta(t, 2500, early, 4*math.Sqrt(2500))
}

func BenchmarkNext(b *testing.B) {
	for name, make := range map[string]func() *Schedule{
		"constant": func() *Schedule { return Even(Constant(5000), Bounds{End: Never, Count: unbounded}) },
		"linear": func() *Schedule {
			return Even(Linear{From: 1, To: 5000, Over: time.Minute}, Bounds{End: Never, Count: unbounded})
		},
		"poisson": func() *Schedule { return Poisson(Constant(5000), Bounds{End: Never, Count: unbounded}, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			s := make()
			for b.Loop() {
				s.Next()
			}
		})
	}
}
