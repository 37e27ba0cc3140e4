package loadgen

import (
	"fmt"
	"math"
	"time"

	"secondhop/loadgen/wire"
)

// summarize makes the summary of a run that is over.
func (r *run) summarize(host hostSample, interrupted bool) *Summary {
	s := &Summary{
		Version: 1, Plan: r.plan,
		Start:       Start{Wall: r.clock.start, Monotonic: r.clock.monotonic},
		Elapsed:     r.clock.now(),
		Interrupted: interrupted,
		Events:      r.events.all(),
		Host:        host.until(sampleHost()),
	}
	s.RequestBytes = r.requestSize()
	s.Connections.Opened, s.Connections.Peak = r.connections.counts()
	s.Connections.ClosedByPeer = r.closedByPeer.Load()
	for _, p := range r.pools {
		s.Connections.Waited += p.waited
	}
	s.Connections.Ports = localPorts()
	r.out.mu.Lock()
	r.out.sums.describe(s)
	r.out.mu.Unlock()
	s.Reasons = s.judge()
	s.Valid = len(s.Reasons) == 0
	return s
}

// judge lists why the figures would say more about the generator than about the
// system; it is never nil, so that JSON has a list.
func (s *Summary) judge() []string {
	reasons := []string{}
	fault := func(bad bool, format string, args ...any) {
		if bad {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	limits := s.Plan.Limits
	fault(s.Interrupted && !s.Plan.OpenEnded, "interrupted before its end")
	fault(s.Requests == 0, "no request was due")
	fault(s.Lateness.P99 > time.Duration(limits.LatenessP99),
		"p99 of lateness %s is over %s", s.Lateness.P99, time.Duration(limits.LatenessP99))
	fault(s.rateIsOff(), "achieved rate %.3f/s, offered %.3f/s: off by more than %.3f %%",
		s.Achieved, s.Offered, 100*limits.RateError)
	fault(s.Host.CPUShare > limits.CPU, "the generator used %.0f %% of its CPU, more than %.0f %%",
		100*s.Host.CPUShare, 100*limits.CPU)
	s.judgeClasses(fault)
	return reasons
}

func (s *Summary) judgeClasses(fault func(bad bool, format string, args ...any)) {
	count := func(class string) uint64 { return s.ByClass[class] }
	fault(count("limit") > 0, "%d requests got none of the %d connections in time", count("limit"), s.Plan.MaxConnections)
	fault(count("ports") > 0, "%d requests found no local port", count("ports"))
	fault(count("internal") > 0, "%d requests failed in the generator", count("internal"))
}

// requestSize is the number of bytes of each request, head and body.
func (r *run) requestSize() int { return wire.NewSender(r.request).Size() }

// rateIsOff compares the achieved rate with the offered one. A difference that
// the lateness allowed for a single request can make is none: in a short run it
// is more than the allowed error.
func (s *Summary) rateIsOff() bool {
	if s.Offered <= 0 || s.Achieved <= 0 {
		return false
	}
	gaps := float64(s.Requests - 1)
	drift := math.Abs(gaps/s.Achieved - gaps/s.Offered) // seconds
	return math.Abs(s.Achieved/s.Offered-1) > s.Plan.Limits.RateError &&
		drift > time.Duration(s.Plan.Limits.LatenessP99).Seconds()
}
