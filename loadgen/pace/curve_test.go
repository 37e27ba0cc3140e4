package pace

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestConstantAt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rate, x float64
		want    time.Duration
	}{
		"start":                 {5000, 0, 0},
		"second request":        {5000, 1, 200 * time.Microsecond},
		"whole second":          {5000, 5000, time.Second},
		"a third":               {3, 1, 333333333},
		"ten minutes at 50,000": {50000, 30_000_000, 10 * time.Minute},
		"one per hour":          {1.0 / 3600, 2, 2 * time.Hour},
		"rate 0":                {0, 1, Never},
		"no requests at rate 0": {0, 0, Never}, // 0/0
		"infinite rate":         {math.Inf(1), 5, 0},
		"beyond 292 years":      {1e-10, 10, Never},
		"negative rate":         {-1, 5, 0}, // plans refuse it; it must not run backwards
		"NaN":                   {math.NaN(), 5, Never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, Constant(test.rate).At(test.x))
		})
	}
}

func TestLinearAt(t *testing.T) {
	t.Parallel()
	up := Linear{From: 0, To: 100, Over: 10 * time.Second} // due(t) = 5 t^2
	down := Linear{From: 100, To: 0, Over: 10 * time.Second}
	flat := Linear{From: 50, To: 50, Over: 10 * time.Second}
	for name, test := range map[string]struct {
		curve Linear
		x     float64
		want  time.Duration
	}{
		"up, start":                 {up, 0, 0},
		"up, after 1 s":             {up, 5, time.Second},
		"up, after 2 s":             {up, 20, 2 * time.Second},
		"up, end of the ramp":       {up, 500, 10 * time.Second},
		"up, goes on at the top":    {up, 600, 11 * time.Second},
		"down, after 2 s":           {down, 180, 2 * time.Second},
		"down, end of the ramp":     {down, 500, 10 * time.Second},
		"down, never after the end": {down, 501, Never},
		"flat":                      {flat, 100, 2 * time.Second},
		"flat, beyond":              {flat, 1000, 20 * time.Second},
		"nothing at all":            {Linear{Over: time.Second}, 1, Never},
		"no ramp":                   {Linear{From: 1, To: 10}, 5, 500 * time.Millisecond},
		"huge":                      {Linear{From: 1e300, To: 1e300, Over: time.Second}, 1e300, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.InDelta(t, float64(test.want), float64(test.curve.At(test.x)), 1)
		})
	}
}

// due is the integral of the rate: what Linear.At inverts.
func (l Linear) due(at time.Duration) float64 {
	over, t := l.Over.Seconds(), at.Seconds()
	if t > over {
		return (l.From+l.To)/2*over + l.To*(t-over)
	}
	return l.From*t + (l.To-l.From)/over*t*t/2
}

func TestLinearInvertsItsIntegral(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		curve := Linear{
			From: rapid.Float64Range(0, 50000).Draw(t, "from"),
			To:   rapid.Float64Range(0.1, 50000).Draw(t, "to"),
			Over: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(10*time.Minute)).Draw(t, "over")),
		}
		at := time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "at"))
		back := curve.At(curve.due(at))
		// Where the rate is near 0 an instant is ill-defined: the count is what matters.
		if diff := math.Abs(curve.due(back) - curve.due(at)); diff > 1e-3 {
			t.Fatalf("%v: due(%s) and due(%s) differ by %g", curve, at, back, diff)
		}
	})
}

func TestCurvesNeverRunBackwards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		curve := Linear{
			From: rapid.Float64Range(0, 50000).Draw(t, "from"),
			To:   rapid.Float64Range(0, 50000).Draw(t, "to"),
			Over: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(10*time.Minute)).Draw(t, "over")),
		}
		x := rapid.Float64Range(0, 1e8).Draw(t, "x")
		more := rapid.Float64Range(0, 1e6).Draw(t, "more")
		if first, second := curve.At(x), curve.At(x+more); second < first || first < 0 {
			t.Fatalf("At(%g) = %s, At(%g) = %s", x, first, x+more, second)
		}
	})
}
