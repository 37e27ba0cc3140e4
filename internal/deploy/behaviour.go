package deploy

import (
	"strconv"
	"time"

	"secondhop/fixtures/manifests"
	"secondhop/internal/failure"
)

// StopMode is what the application does on SIGTERM.
type StopMode string

// AgentMode is what the application's agent says.
type AgentMode string

// ClosingMode is how the application ends kept connections.
type ClosingMode string

// The application's modes; the negative controls use those that are not the default.
const (
	StopGraceful StopMode = "graceful"
	StopExit     StopMode = "exit" // ends at once, cutting what it serves

	AgentNormal      AgentMode = "normal"
	AgentNeverReady  AgentMode = "never-ready"  // 0% for ever
	AgentAlwaysReady AgentMode = "always-ready" // 100%, also while starting and stopping
	AgentWeightOnly  AgentMode = "weight-only"  // the right weight, without the words up and ready
	AgentDown        AgentMode = "down"
	AgentDrain       AgentMode = "drain"
	AgentMaint       AgentMode = "maint"
	AgentUnknown     AgentMode = "unknown" // a word that HAProxy does not know
	AgentOff         AgentMode = "off"     // nothing listens on its port

	ClosingAbrupt    ClosingMode = "abrupt"    // idle connections end without a word
	ClosingAnnounced ClosingMode = "announced" // an answer says that it is the last one
)

// opensSlots says that slots open behind such an agent: they start disabled, and
// only "up ready" with a weight lifts that.
func (m AgentMode) opensSlots() bool { return m == AgentNormal || m == AgentAlwaysReady }

// Behaviour is how the application serves from its start on, as far as it is not
// the usual. The zero value is the usual.
type Behaviour struct {
	// ServeBeforeReady opens the port at once and answers 503 during the start delay;
	// without it nothing listens until then.
	ServeBeforeReady bool
	Latency          time.Duration // of each answer
	Capacity         float64       // requests per second and pod, 503 beyond; 0 for no bound
	// For ColdFor from ready on, each answer costs ColdTimes as much of latency and capacity.
	ColdFor   time.Duration
	ColdTimes float64 // 1
	// Every PauseEvery, at the same instants in all pods, nothing is answered for PauseFor.
	PauseEvery, PauseFor time.Duration
	// KeepAlive bounds how long connections are kept: idle ones if they end abruptly,
	// all of them if that is announced.
	KeepAlive time.Duration // 5 minutes, idle
	Closing   ClosingMode   // ClosingAbrupt
	PreStop   time.Duration // sleep of the preStop hook, in whole seconds
	// FailReadiness makes the readiness probe fail from SIGTERM on.
	FailReadiness bool
}

func (b Behaviour) validate() error {
	switch {
	case b.PreStop%time.Second != 0 || b.PreStop < 0:
		return failure.Inputf("preStop %s: the hook sleeps whole seconds", b.PreStop)
	case b.PauseFor > 0 && b.PauseFor >= b.PauseEvery:
		return failure.Inputf("a pause of %s every %s leaves the application no time to answer", b.PauseFor, b.PauseEvery)
	case b.ColdTimes != 0 && b.ColdTimes < 1:
		return failure.Inputf("cold answers cost %g times as much as others: want 1 or more", b.ColdTimes)
	case b.Capacity < 0:
		return failure.Inputf("capacity %g is negative", b.Capacity)
	}
	return nil
}

// env is what differs from the usual, in the application's variables.
func (b Behaviour) env() []manifests.EnvVar {
	var vars []manifests.EnvVar
	add := func(name, value, usual string) {
		if value != usual {
			vars = append(vars, manifests.EnvVar{Name: name, Value: value})
		}
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	add("SERVE_BEFORE_READY", strconv.FormatBool(b.ServeBeforeReady), "false")
	add("LATENCY", b.Latency.String(), "0s")
	add("CAPACITY", number(b.Capacity), "0")
	add("COLD_FOR", b.ColdFor.String(), "0s")
	add("COLD_TIMES", number(b.ColdTimes), "0")
	add("PAUSE_EVERY", b.PauseEvery.String(), "0s")
	add("PAUSE_FOR", b.PauseFor.String(), "0s")
	add("KEEP_ALIVE", b.KeepAlive.String(), "0s")
	add("CLOSING", string(b.Closing), "")
	add("FAIL_READINESS", strconv.FormatBool(b.FailReadiness), "false")
	return vars
}
