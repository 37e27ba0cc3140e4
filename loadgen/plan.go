// Package loadgen is an open-loop HTTP load generator: the instants of all
// requests are fixed before the run, whatever the system under test does, and
// every request is recorded with its times, its fate and who served it.
package loadgen

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that is written "1.5s" in JSON.
type Duration time.Duration

// MarshalText writes the duration as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration with its unit, such as "500ms".
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: write it with a unit, such as 500ms or 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}

// Plan is one run. Fields that are left out take the defaults of WithDefaults.
type Plan struct {
	Targets []Target `json:"targets"`

	Rate     float64  `json:"rate"`             // requests per second over all targets
	RateTo   float64  `json:"rateTo,omitempty"` // rate reached at the end, in a straight line; 0 = steady
	Duration Duration `json:"duration"`         // no request is due after it
	Count    uint64   `json:"count,omitempty"`  // at most so many requests; 0 = as many as fit
	// OpenEnded says that being told to end is the regular end of the run: the
	// schedule is only a bound. A run that is not, and is told, is not valid.
	OpenEnded bool   `json:"openEnded,omitempty"`
	Arrival   string `json:"arrival,omitempty"`
	Seed      uint64 `json:"seed,omitempty"` // of the Poisson arrivals

	Method    string `json:"method,omitempty"`
	Host      string `json:"host"` // Host header
	Path      string `json:"path,omitempty"`
	BodyBytes int    `json:"bodyBytes,omitempty"` // of the request

	Connection           string   `json:"connection,omitempty"`
	ConnectionsPerTarget int      `json:"connectionsPerTarget,omitempty"` // kept open; more are opened while these are busy
	MaxConnections       int      `json:"maxConnections,omitempty"`       // in all, divided among the targets; requests beyond wait, and fail with class "limit" if in vain
	Timeout              Duration `json:"timeout,omitempty"`              // per request, from when it is taken up
	Spread               string   `json:"spread,omitempty"`
	SpreadBy             string   `json:"spreadBy,omitempty"`

	// Direct says that targets are nodes without an ingress in between: answers that
	// name none are then recorded as taken in by the target's node.
	Direct bool `json:"direct,omitempty"`

	Probe  *Probe  `json:"probe,omitempty"` // none: all targets take part always
	Limits *Limits `json:"limits,omitempty"`
}

// Target is one node's ingress.
type Target struct {
	Node    string `json:"node"`             // name in the results
	Address string `json:"address"`          // literal IP and port, see package address
	Weight  int    `json:"weight,omitempty"` // for spread "weighted"; default 1
}

// Probe is the health check of the edge balancer: a GET on a new connection,
// good when answered with 200 in time. All targets are up at the start.
type Probe struct {
	Path     string   `json:"path"`
	Interval Duration `json:"interval"`
	Timeout  Duration `json:"timeout"`
	Fall     int      `json:"fall"` // failed probes in a row that take a target out
	Rise     int      `json:"rise"` // good probes in a row that bring it back
}

// Limits are the bounds beyond which a run says more about the generator than
// about what it measured.
type Limits struct {
	LatenessP99 Duration `json:"latenessP99,omitempty"` // default 10ms
	RateError   float64  `json:"rateError,omitempty"`   // |achieved/offered - 1|, default 0.001
	CPU         float64  `json:"cpu,omitempty"`         // share of the cores this process may use, default 0.9
}

// Values of Plan.Arrival.
const (
	ArrivalConstant = "constant" // evenly spaced
	ArrivalPoisson  = "poisson"  // independent users
)

// Values of Plan.Connection.
const (
	KeepAlive  = "keepalive"   // connections are kept and used in turn
	PerRequest = "per-request" // one connection for each request
)

// Values of Plan.Spread.
const (
	SpreadEven     = "even"
	SpreadWeighted = "weighted"
)

// Values of Plan.SpreadBy.
const (
	ByRequest    = "request"    // the balancer chooses a target for each request
	ByConnection = "connection" // for each new connection, as a TCP balancer does
)

// Bounds of every plan: a mistake must not turn into a flood.
const (
	MaxRate        = 50_000           // requests per second
	MaxDuration    = 10 * time.Minute // of the schedule
	MaxConnections = 20_000
	MaxBodyBytes   = 16 << 20
	MaxTimeout     = 2 * time.Minute
	MaxTargets     = 1024
)

// WithDefaults fills in what the plan leaves open.
func (p Plan) WithDefaults() Plan {
	setDefault(&p.Arrival, ArrivalConstant)
	setDefault(&p.Method, "GET")
	setDefault(&p.Path, "/")
	setDefault(&p.Connection, KeepAlive)
	setDefault(&p.ConnectionsPerTarget, 8)
	setDefault(&p.MaxConnections, 8192)
	setDefault(&p.Timeout, Duration(10*time.Second))
	setDefault(&p.Spread, SpreadEven)
	setDefault(&p.SpreadBy, ByRequest)
	targets := make([]Target, len(p.Targets)) // the caller's stay as they are
	copy(targets, p.Targets)
	for i := range targets {
		setDefault(&targets[i].Weight, 1)
	}
	p.Targets = targets
	var limits Limits
	if p.Limits != nil {
		limits = *p.Limits
	}
	setDefault(&limits.LatenessP99, Duration(10*time.Millisecond))
	setDefault(&limits.RateError, 0.001)
	setDefault(&limits.CPU, 0.9)
	p.Limits = &limits
	return p
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// ParsePlan reads a plan from JSON, with defaults filled in. Its error lists
// everything that is wrong, each with the name of the field.
func ParsePlan(text []byte) (Plan, error) {
	var p Plan
	faults := decodeStrict(text, &p)
	p = p.WithDefaults()
	if len(faults) > 0 {
		return Plan{}, planError(faults)
	}
	return p, p.Validate()
}

// JSON writes the plan as ParsePlan reads it.
func (p Plan) JSON() ([]byte, error) { return json.MarshalIndent(p, "", "  ") }
