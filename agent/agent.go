package agent

import (
	"fmt"
	"net/http"
	"sync"
)

// State is a step in the life of a pod. States are only left forwards.
type State int

const (
	// Starting is the state of a new Agent: it wants no traffic.
	Starting State = iota
	// Ready wants the share that the weight says.
	Ready
	// Draining wants no new traffic and never will again.
	Draining
)

// String is the state's name as it appears in logs.
func (s State) String() string {
	switch s {
	case Starting:
		return "Starting"
	case Ready:
		return "Ready"
	case Draining:
		return "Draining"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// MaxWeight is the largest weight, in percent of the configured server weight.
// HAProxy caps an effective weight at 256, which is 256 % of the usual 100.
const MaxWeight = 256

// Agent holds the state of one pod and what is answered for it. Its zero value
// is Starting with full weight; it is safe for concurrent use.
type Agent struct {
	mu    sync.RWMutex
	state State
	// reduction is 100 - weight, so that the zero value means full weight.
	reduction int
	line      []byte
}

// New returns an agent in state Starting with a weight of 100 %.
func New() *Agent { return &Agent{} }

// State is the present state.
func (a *Agent) State() State {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.state
}

// SetReady moves a starting agent to Ready and reports whether the agent is
// Ready now; one that is draining stays so.
func (a *Agent) SetReady() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == Starting {
		a.state, a.line = Ready, nil
	}
	return a.state == Ready
}

// Drain moves the agent to Draining, from whatever state, for good.
func (a *Agent) Drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.line = Draining, nil
}

// SetWeight sets the share that the pod wants when it is ready, in percent of a
// full share, from 0 to MaxWeight. With 0 the pod stays ready and gets nothing.
func (a *Agent) SetWeight(percent int) error {
	if percent < 0 || percent > MaxWeight {
		return fmt.Errorf("set agent weight to %d%%: it must be between 0%% and %d%%", percent, MaxWeight)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reduction, a.line = 100-percent, nil
	return nil
}

// Weight is the weight set last, in percent; 100 if none was.
func (a *Agent) Weight() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return 100 - a.reduction
}

// Line is the answer to a poll now, ending in a newline.
func (a *Agent) Line() string { return string(a.answer()) }

// answer renders the line once per change: polls are many, changes few.
func (a *Agent) answer() []byte {
	a.mu.RLock()
	line := a.line
	a.mu.RUnlock()
	if line != nil {
		return line
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.line = []byte("0%\n")
	if a.state == Ready {
		a.line = fmt.Appendf(nil, "up ready %d%%\n", 100-a.reduction)
	}
	return a.line
}

// ReadinessHandler answers a Kubernetes readiness probe: 503 while starting and
// 200 from Ready on. It stays 200 while draining, since the pod does serve then:
// kube-proxy falls back on pods that terminate but are ready when a Service has
// no others, and a probe that fails at SIGTERM would take that away.
func (a *Agent) ReadinessHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		state := a.State()
		if state == Starting {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, state)
	})
}
