package measure_test

import (
	"math"
	"testing"

	"secondhop/internal/measure"
)

func TestWilson(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		hits, n   int64
		low, high float64
	}{
		{0, 0, 0, 1},
		{0, 10, 0, .277533},
		{10, 10, .722467, 1},
		{1, 10, .017876, .404150},
		{81, 263, .255289, .366210},
		{23_400, 32_000, .726365, .736080},
	} {
		got := measure.Share{Hits: tc.hits, N: tc.n}.Wilson(.95)
		if math.Abs(got.Low-tc.low) > 2e-6 || math.Abs(got.High-tc.high) > 2e-6 {
			t.Errorf("%d of %d: %.6f..%.6f, want %.6f..%.6f", tc.hits, tc.n, got.Low, got.High, tc.low, tc.high)
		}
	}
}

func TestUpperBound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		hits, n int64
		want    float64
	}{
		{0, 0, 1},
		{5, 5, 1},
		{0, 1, .95},
		// About 3/N, exactly 1-0.05^(1/N).
		{0, 37_500, 7.98829e-5},
		{0, 1_000_000, 2.99573e-6},
		// Clopper-Pearson, one-sided.
		{1, 10, .394163},
		{3, 1_000, .00773},
		{103, 13_501, .00899},
	} {
		got := measure.Share{Hits: tc.hits, N: tc.n}.UpperBound(.95)
		if math.Abs(got-tc.want) > 2e-3*tc.want {
			t.Errorf("%d of %d: at most %.6g, want %.6g", tc.hits, tc.n, got, tc.want)
		}
	}
}

func TestShareRatio(t *testing.T) {
	t.Parallel()
	if !math.IsNaN(measure.Share{}.Ratio()) {
		t.Error("the ratio of nothing is a number")
	}
	if got := (measure.Share{Hits: 1, N: 2}).Plus(measure.Share{Hits: 2, N: 2}).Ratio(); got != .75 {
		t.Errorf("one of two and two of two are %v", got)
	}
	if (measure.Interval{Low: 0, High: 1}).Contains(math.NaN()) {
		t.Error("an interval contains NaN")
	}
}
