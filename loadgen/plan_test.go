package loadgen

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"secondhop/internal/failure"
)

const minimal = `{"targets":[{"node":"w1","address":"198.18.0.3:80"}],"rate":500,"duration":"30s","host":"my-app"}`

func TestParsePlanFillsInDefaults(t *testing.T) {
	t.Parallel()
	got, err := ParsePlan([]byte(minimal))
	require.NoError(t, err)
	want := Plan{
		Targets: []Target{{Node: "w1", Address: "198.18.0.3:80", Weight: 1}},
		Rate:    500, Duration: Duration(30 * time.Second), Arrival: "constant",
		Method: "GET", Host: "my-app", Path: "/",
		Connection: "keepalive", ConnectionsPerTarget: 8, MaxConnections: 8192,
		Timeout: Duration(10 * time.Second), Spread: "even", SpreadBy: "request",
		Limits: &Limits{LatenessP99: Duration(10 * time.Millisecond), RateError: 0.001, CPU: 0.9},
	}
	assert.Empty(t, cmp.Diff(want, got))
}

func TestPlanSurvivesJSON(t *testing.T) {
	t.Parallel()
	want := Plan{
		Targets: []Target{{"w1", "198.18.0.3:80", 2}, {"w2", "[::1]:8080", 3}},
		Rate:    0, RateTo: 0.5, Duration: Duration(90 * time.Second), Count: math.MaxUint64, Arrival: "poisson", Seed: math.MaxUint64,
		Method: "POST", Host: "h", Path: "/?size=1", BodyBytes: 1,
		Connection: "per-request", ConnectionsPerTarget: 1, MaxConnections: 2, Timeout: Duration(time.Millisecond),
		Spread: "weighted", SpreadBy: "connection",
		Probe:  &Probe{"/-/ready", Duration(time.Second), Duration(500 * time.Millisecond), 3, 2},
		Limits: &Limits{Duration(time.Second), 0.01, 1},
	}
	text, err := want.JSON()
	require.NoError(t, err)
	got, err := ParsePlan(text)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(want, got))
}

func TestWithDefaultsLeavesTheCallersPlanAlone(t *testing.T) {
	t.Parallel()
	mine := Plan{Targets: []Target{{Node: "w1"}}, Limits: &Limits{}}
	mine.WithDefaults()
	assert.Equal(t, Plan{Targets: []Target{{Node: "w1"}}, Limits: &Limits{}}, mine)
}

func TestParsePlanTellsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParsePlan([]byte(`{
		"targets": [
			{"node": "w1", "address": "example.com:80"},
			{"node": "w1", "address": "10.0.0.1:80", "weight": -1},
			{"node": "a b", "address": "[::ffff:198.18.0.3]:80", "weight": 2}],
		"rate": 50001, "rateTo": -1, "duration": "11m", "arrival": "burst", "method": "PUT", "host": "", "path": "no slash",
		"bodyBytes": 5, "connection": "sometimes", "connectionsPerTarget": 5000, "maxConnections": 20001, "timeout": "3m",
		"spread": "random", "spreadBy": "magic",
		"probe": {"path": "", "interval": "1ms", "timeout": "0s", "fall": 0, "rise": 101},
		"limits": {"latenessP99": "2m", "rateError": 2, "cpu": -1}}`))
	require.Error(t, err)
	for _, field := range []string{
		"targets[0].address", "targets[1].address", "targets[1].node", "targets[1].weight", "targets[2].node", "targets[2].address",
		"rate:", "rateTo", "duration", "arrival", "method", "host", "path:", "bodyBytes", "connection:", "maxConnections", "timeout",
		"spread:", "spreadBy", "probe.path", "probe.interval", "probe.timeout", "probe.fall", "probe.rise",
		"limits.latenessP99", "limits.rateError", "limits.cpu",
	} {
		assert.Contains(t, err.Error(), field)
	}
	assert.Equal(t, 3, failure.ExitCode(err))
}

func TestParsePlanTellsAllFaultsOfFormAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParsePlan([]byte(`{"targets": [{"node": 5, "adress": "x"}, null], "rate": "fast", "duration": 30, "count": -1,
		"probe": [], "limits": {"cpus": 1}, "raet": 1}`))
	require.Error(t, err)
	assert.Equal(t, strings.TrimSpace(`
plan: count: number -1 where a uint64 is wanted
duration: number where a int64 is wanted
limits.cpus: no such field; there are cpu, latenessP99, rateError
probe: an object is wanted
raet: no such field; there are arrival, bodyBytes, connection, connectionsPerTarget, count, direct, duration, host, limits, maxConnections, method, openEnded, path, probe, rate, rateTo, seed, spread, spreadBy, targets, timeout
rate: string where a float64 is wanted
targets[0].adress: no such field; there are address, node, weight
targets[0].node: number where a string is wanted
targets[1]: null is no value; leave the field out`), err.Error())
}

func TestParsePlanRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, new, want string }{
		"no JSON":              {minimal, `{"rate":`, "not JSON"},
		"something else":       {minimal, `[]`, "plan: an object is wanted"},
		"trailing text":        {"}", "} x", "not JSON"},
		"no targets":           {`{"node":"w1","address":"198.18.0.3:80"}`, "", "targets: 0 targets"},
		"rate 0":               {"500", "0", "rate: 0 requests per second"},
		"duration of no unit":  {`"30s"`, `"30"`, "write it with a unit"},
		"negative duration":    {`"30s"`, `"-1s"`, "duration: -1s"},
		"line end in the host": {"my-app", `my-app\r\nX: y`, "host:"},
		"weight, even":         {`"198.18.0.3:80"`, `"198.18.0.3:80","weight":2`, `weights need spread "weighted"`},
		"line end in the path": {`"host"`, `"path":"/\r\n","host"`, "path:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(minimal, test.old, test.new, 1)
			require.NotEqual(t, minimal, text)
			_, err := ParsePlan([]byte(text))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestValidateRefusesNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	p, err := ParsePlan([]byte(minimal))
	require.NoError(t, err)
	p.Rate, p.RateTo = math.NaN(), math.Inf(1)
	p.Limits.CPU, p.Limits.RateError = math.NaN(), math.NaN()
	err = p.Validate()
	for _, field := range []string{"rate:", "rateTo:", "limits.cpu:", "limits.rateError:"} {
		assert.ErrorContains(t, err, field)
	}
}

// FuzzParsePlan: whatever is accepted stays within the bounds and goes only where
// load may go.
func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(`{"targets":[{"node":"w1","address":"1.2.3.4:80"}],"probe":{"path":"/"},"limits":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePlan(text)
		if err != nil {
			return
		}
		if p.Rate > MaxRate || p.RateTo > MaxRate || time.Duration(p.Duration) > MaxDuration || p.MaxConnections > MaxConnections {
			t.Fatalf("out of bounds: %+v", p)
		}
		for _, target := range p.Targets {
			lab := strings.HasPrefix(target.Address, "198.18.") || strings.HasPrefix(target.Address, "198.19.")
			if !lab && !strings.HasPrefix(target.Address, "127.") && !strings.HasPrefix(target.Address, "[::1]:") {
				t.Fatalf("target %q accepted", target.Address)
			}
		}
		again, err := p.JSON()
		if err != nil || !json.Valid(again) {
			t.Fatalf("cannot be written again: %v", err)
		}
	})
}
