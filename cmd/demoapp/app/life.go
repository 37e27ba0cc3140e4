package app

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"secondhop/agent"
)

// burstTime is how much of a second's capacity may come at once.
const burstTime = 0.1

// life is an application that runs: its present settings and what follows from
// them.
type life struct {
	agent      *agent.Agent
	app, polls *gate
	serveEarly bool
	readyAt    atomic.Pointer[time.Time] // nil before the start delay is over
	stopping   atomic.Bool
	now        atomic.Pointer[mode]
	changing   sync.Mutex // one change of settings or gates at a time
}

// mode is settings with the limiter that belongs to them.
type mode struct {
	Settings
	limiter *rate.Limiter // nil without a bound
}

func newMode(s Settings) *mode {
	m := &mode{Settings: s}
	if s.Capacity > 0 {
		burst := math.Max(s.Capacity*burstTime, s.ColdTimes)
		m.limiter = rate.NewLimiter(rate.Limit(s.Capacity), int(math.Ceil(burst)))
	}
	return m
}

func (l *life) settings() *Settings { return &l.now.Load().Settings }

// set puts settings in force. On an error the old ones stay.
func (l *life) set(change func(Settings) (Settings, error)) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	before := l.now.Load()
	s, err := change(before.Settings)
	if err != nil {
		return err
	}
	if err := l.agent.SetWeight(s.Weight); err != nil {
		return err
	}
	l.now.Store(newMode(s))
	return l.setGates()
}

// setGates opens and shuts the ports as settings and readiness say; l.changing is
// held.
func (l *life) setGates() error {
	s := l.settings()
	if err := l.polls.Set(s.Agent != AgentOff); err != nil {
		return err
	}
	return l.app.Set(s.AppPort == PortOpen && (l.serveEarly || l.readyAt.Load() != nil))
}

// warmUp waits for the start delay.
func (l *life) warmUp(delay time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := pause(ctx, delay); err != nil {
			return err
		}
		l.changing.Lock()
		defer l.changing.Unlock()
		now := time.Now()
		l.readyAt.Store(&now)
		return l.setGates()
	}
}

// pause waits; the error is that ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// cost is how many times the usual an answer costs.
func (m *mode) cost(readyAt, now time.Time) float64 {
	if now.Sub(readyAt) < m.ColdFor {
		return m.ColdTimes
	}
	return 1
}

// full says that the capacity is used up for now.
func (m *mode) full(cost float64, now time.Time) bool {
	return m.limiter != nil && !m.limiter.AllowN(now, int(math.Round(cost)))
}

// delay is how long an answer has to wait from now on.
func (m *mode) delay(cost float64, now time.Time) time.Duration {
	wait := time.Duration(float64(m.Latency) * cost)
	if m.PauseFor > 0 {
		if into := time.Duration(now.UnixNano() % int64(m.PauseEvery)); into < m.PauseFor {
			wait += m.PauseFor - into
		}
	}
	return wait
}
