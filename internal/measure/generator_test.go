package measure_test

import (
	"testing"
	"time"

	"secondhop/internal/measure"
	"secondhop/loadgen"
)

func TestGenerator(t *testing.T) {
	t.Parallel()
	good := loadgen.Summary{Valid: true, Offered: 1200, Achieved: 1200.1, Requests: 40_000,
		Lateness: loadgen.Quantiles{P99: 300 * time.Microsecond}}
	slow, starved, empty := good, good, good
	slow.Achieved = 1150
	starved.Valid, starved.Reasons = false, []string{"lateness p99 is 80ms", "no port left"}
	empty.Requests = 0
	check(t, []verdictCase{
		{"good", measure.Generator("id", "subject", &good), measure.Pass, "lateness p99 0.000 s"},
		{"slow", measure.Generator("id", "subject", &slow), measure.Inconclusive, "observed 1150 requests/s"},
		{"starved", measure.Generator("id", "subject", &starved), measure.Inconclusive, "lateness p99 is 80ms; no port left"},
		{"empty", measure.Generator("id", "subject", &empty), measure.Inconclusive, "no request was due"},
		{"no summary", measure.Generator("id", "subject", nil), measure.Inconclusive, "left no summary"},
	})
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	check(t, []verdictCase{
		// 76 % used and a cut of 22.3 % leave 41 % free instead of 24 %.
		{"as predicted", measure.Growth("id", "subject", .76, .5905, .223, .02), measure.Pass,
			"observed 70.6 points, want 70.6 points (64.3 points..77.0 points); the link was used to 76.0 %, then to 59.1 %"},
		{"less", measure.Growth("id", "subject", .76, .62, .223, .02), measure.Fail, "observed 58.3 points"},
		{"more", measure.Growth("id", "subject", .76, .55, .223, .02), measure.Fail, "observed 87.5 points"},
		{"full before", measure.Growth("id", "subject", 1, .5, .223, .02), measure.Inconclusive, "has no free capacity"},
		{"idle before", measure.Growth("id", "subject", 0, 0, .223, .02), measure.Inconclusive, "has no free capacity"},
	})
}
