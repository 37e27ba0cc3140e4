package measure

import (
	"math"
	"testing"
)

// Values from sums of exact integers.
func TestCDF(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		k, n int64
		p    float64
		want float64
	}{
		{3, 10, 3. / 10, 0.6496107184},
		{0, 5, 1. / 2, 0.03125},
		{800, 1000, 5. / 6, 0.00318807555433257},
		{770, 1000, 5. / 6, 1.6040141703952e-07},
		{1500, 2000, 19. / 26, 0.975906364463695},
		{1360, 2000, 19. / 26, 2.77694666300437e-07},
		{120, 2000, 1. / 13, 0.00193685585561433},
		{-1, 10, .5, 0},
		{10, 10, .5, 1},
		{12, 10, .5, 1},
		{3, 10, 0, 1},
		{3, 10, 1, 0},
	} {
		got := cdf(tc.k, tc.n, tc.p)
		if math.Abs(got-tc.want) > 1e-9*tc.want {
			t.Errorf("P(X <= %d), n %d p %v = %.12g, want %.12g", tc.k, tc.n, tc.p, got, tc.want)
		}
		if sum := got + tail(tc.k+1, tc.n, tc.p); math.Abs(sum-1) > 1e-12 {
			t.Errorf("k %d n %d p %v: both sides add up to %v", tc.k, tc.n, tc.p, sum)
		}
	}
}

// For as many requests as a long run has, the tails agree with a sum of terms.
func TestTailsOfManyRequests(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{40_000, 1_000_000} {
		for _, p := range []float64{1. / 13, 100. / 480, 0.7308, 5. / 6, 0.999} {
			mean, deviation := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
			k := int64(mean - 5*deviation)
			sum := 0.0
			for i := k; i >= 0 && i > k-int64(20*deviation); i-- {
				sum += math.Exp(logTerm(i, n, p))
			}
			if got := cdf(k, n, p); math.Abs(got-sum) > 1e-7*sum {
				t.Errorf("n %d p %v: P(X <= %d) = %.9g, want %.9g", n, p, k, got, sum)
			}
		}
	}
}

func logTerm(k, n int64, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
}

// The test is exact: on either side the rejected counts have at most half the
// level, and one count more would have had more.
func TestAcceptanceIsExact(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{1, 7, 100, 10_000, 200_000} {
		for _, p := range []float64{0, .001, 1. / 13, .25, .7308, .999, 1} {
			for _, level := range []float64{.05, 2e-6} {
				low, high := acceptance(n, p, level)
				if under, over := cdf(low-1, n, p), tail(high+1, n, p); under > level/2 || over > level/2 {
					t.Errorf("n %d p %v level %v: %d..%d leaves out %v and %v", n, p, level, low, high, under, over)
				}
				if low < high && (cdf(low, n, p) <= level/2 || tail(high, n, p) <= level/2) {
					t.Errorf("n %d p %v level %v: %d..%d is wider than it has to be", n, p, level, low, high)
				}
			}
		}
	}
}

func TestNormalQuantile(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64]float64{.5: 0, .975: 1.959964, .025: -1.959964, .999999: 4.753424} {
		if got := normalQuantile(p); math.Abs(got-want) > 1e-6 {
			t.Errorf("quantile of %v = %v, want %v", p, got, want)
		}
	}
}
