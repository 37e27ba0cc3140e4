package checks

import (
	"testing"
	"time"

	"secondhop/internal/measure"
	"secondhop/loadgen"
	"secondhop/loadgen/wire"
)

// refusedFrom is a run in which everything is refused from one instant to another.
func refusedFrom(from, to time.Duration) func(int, *loadgen.Record) {
	return func(_ int, r *loadgen.Record) {
		if r.Scheduled >= from && r.Scheduled < to {
			fail(r, wire.Connect, 0)
		}
	}
}

func TestExpectErrors(t *testing.T) {
	t.Parallel()
	outage := sample{events: 1, change: refusedFrom(12*time.Second, 13*time.Second)}
	noPorts := sample{events: 1, change: func(i int, r *loadgen.Record) {
		if i == 7 {
			fail(r, wire.Ports, 0)
		}
	}}
	judgeAll(t, expectErrorsKind(), []judgement{
		{"there are some", outage, nil, nil, measure.Pass},
		{"there are some of the class", outage, &ExpectErrors{AtLeast: 1000, Classes: []string{"connect"}}, nil, measure.Pass},
		{"there are none", sample{events: 1}, nil, nil, measure.NotProvoked},
		{"there are too few", outage, &ExpectErrors{AtLeast: 1001}, nil, measure.NotProvoked},
		{"there are none of the class", outage, &ExpectErrors{AtLeast: 1, Classes: []string{"5xx"}}, nil, measure.NotProvoked},
		{"the event did not happen", outage, nil, func(in *Input) { in.Outcome.Events = nil }, measure.NotProvoked},
		{"the generator's own", noPorts, nil, nil, measure.NotProvoked},
		{"nothing was sent", outage, nil, nothing, measure.NotProvoked},
	})
}

func TestErrorWindow(t *testing.T) {
	t.Parallel()
	outage := sample{events: 1, change: refusedFrom(12*time.Second, 14*time.Second)}
	upTo := func(bound time.Duration, since string) *ErrorWindow {
		return &ErrorWindow{AtMost: bound, Gap: time.Second, Since: since}
	}
	twice := sample{events: 1, change: func(i int, r *loadgen.Record) {
		refusedFrom(12*time.Second, 13*time.Second)(i, r)
		refusedFrom(15*time.Second, 16*time.Second)(i, r)
	}}
	judgeAll(t, errorWindowKind(), []judgement{
		{"none", sample{}, nil, nil, measure.Pass},
		{"short enough", outage, upTo(2*time.Second, "event 1"), nil, measure.Pass},
		{"too long", outage, upTo(1900*time.Millisecond, "event 1"), nil, measure.Fail},
		{"over before", outage, upTo(0, "event 1.done"), nil, measure.Pass},
		{"two short ones", twice, upTo(time.Second, ""), nil, measure.Pass},
		{"two that are one", twice, &ErrorWindow{AtMost: time.Second, Gap: 3 * time.Second}, nil, measure.Fail},
		{"of another class", outage, &ErrorWindow{Gap: time.Second, Classes: []string{"503"}}, nil, measure.Pass},
		{"the event did not happen", outage, upTo(time.Minute, "event 1"), func(in *Input) { in.Outcome.Events = nil }, measure.NotProvoked},
		{"nothing was sent", outage, nil, nothing, measure.Inconclusive},
	})
}

func TestAnEventThatIsNotPlanned(t *testing.T) {
	t.Parallel()
	in := sample{events: 1}.input(t)
	if _, err := errorWindowKind().Judge(t.Context(), in, &ErrorWindow{Gap: time.Second, Since: "event 2"}); err == nil {
		t.Error("a check that counts from an event that is not planned is judged")
	}
}

func TestLatencyPercentile(t *testing.T) {
	t.Parallel()
	slow := sample{change: func(i int, r *loadgen.Record) {
		if i%50 == 0 {
			r.Done += time.Second
		}
	}}
	// The generator took these up late: that is in the response time only.
	late := sample{change: func(i int, r *loadgen.Record) {
		if i%50 == 0 {
			r.Sent += time.Second
			r.Done += time.Second
		}
	}}
	bound := func(percentile float64, which string, atMost time.Duration) *LatencyPercentile {
		return &LatencyPercentile{Percentile: percentile, Time: which, AtMost: &atMost}
	}
	judgeAll(t, latencyPercentileKind(), []judgement{
		{"fast", sample{}, bound(99, timeResponse, 5*time.Millisecond), nil, measure.Pass},
		{"slow", slow, bound(99, timeResponse, 500*time.Millisecond), nil, measure.Fail},
		{"slow for few", slow, bound(95, timeResponse, 500*time.Millisecond), nil, measure.Pass},
		{"the slowest", slow, bound(100, timeService, 500*time.Millisecond), nil, measure.Fail},
		{"late", late, bound(99, timeResponse, 500*time.Millisecond), nil, measure.Fail},
		{"late, service time", late, bound(99, timeService, 500*time.Millisecond), nil, measure.Pass},
		{"must be slow, is", slow, &LatencyPercentile{Percentile: 99, Time: timeResponse, AtLeast: ptr(time.Second)}, nil, measure.Pass},
		{"must be slow, is not", sample{}, &LatencyPercentile{Percentile: 99, Time: timeResponse, AtLeast: ptr(time.Second)}, nil, measure.Fail},
		{"too few", sample{requests: 900}, bound(99, timeResponse, time.Second), nil, measure.Inconclusive},
		{"nothing was sent", sample{}, bound(100, timeResponse, time.Second), nothing, measure.Inconclusive},
	})
}
