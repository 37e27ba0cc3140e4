package measure

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Latency describes times of requests. Quantiles of it are by nearest rank, the
// smallest observed time that at least the part q of all does not exceed, and are
// exact to 3 significant digits; the greatest time is exact. It only holds how often
// each time of 3 digits was seen, some thousands at most, so that its size does not
// grow with the number of requests. (An HdrHistogram from a microsecond to minutes
// has 180 kB of counters however few it is given, and a run has a window a second.)
type Latency struct {
	counts map[time.Duration]int64 // by time, rounded
	n      int64
	max    time.Duration
}

// NewLatency takes the times in any order; the slice is not kept.
func NewLatency(times []time.Duration) Latency {
	var l Latency
	for _, t := range times {
		l.add(t)
	}
	return l
}

// add takes one time; a negative one counts as 0.
func (l *Latency) add(t time.Duration) {
	t = max(t, 0)
	if l.counts == nil {
		l.counts = map[time.Duration]int64{}
	}
	l.counts[rounded(t)]++
	l.n++
	l.max = max(l.max, t)
}

// rounded keeps 3 significant digits.
func rounded(t time.Duration) time.Duration {
	unit := time.Duration(1)
	for t/unit >= 1000 {
		unit *= 10
	}
	return (t + unit/2) / unit * unit
}

// N is the number of times.
func (l Latency) N() int64 { return l.n }

// Quantile is the q-quantile, q in [0, 1]; 0 when there are no times.
func (l Latency) Quantile(q float64) time.Duration {
	rank := max(int64(math.Ceil(q*float64(l.n)-1e-9)), 1)
	if rank >= l.n {
		return l.max
	}
	for _, t := range slices.Sorted(maps.Keys(l.counts)) {
		if rank -= l.counts[t]; rank <= 0 {
			return min(t, l.max)
		}
	}
	return l.max
}

// Over is how many times are more than t, exact as the quantiles are.
func (l Latency) Over(t time.Duration) int64 {
	over := int64(0)
	for at, n := range l.counts {
		if at > t {
			over += n
		}
	}
	return over
}

// Summary is the usual quantiles.
func (l Latency) Summary() Quantiles {
	return Quantiles{N: l.N(), P50: l.Quantile(.5), P90: l.Quantile(.9), P99: l.Quantile(.99), P999: l.Quantile(.999), Max: l.Quantile(1)}
}

// Merge is all times of both; quantiles are never averaged.
func (l Latency) Merge(other Latency) Latency {
	both := Latency{counts: maps.Clone(l.counts), n: l.n + other.n, max: max(l.max, other.max)}
	if both.counts == nil {
		both.counts = map[time.Duration]int64{}
	}
	for t, n := range other.counts {
		both.counts[t] += n
	}
	return both
}

// Quantiles are times of a window of requests. In JSON they are milliseconds.
type Quantiles struct {
	N                        int64
	P50, P90, P99, P999, Max time.Duration
}

type quantilesJSON struct {
	N    int64   `json:"n"`
	P50  float64 `json:"p50ms"`
	P90  float64 `json:"p90ms"`
	P99  float64 `json:"p99ms"`
	P999 float64 `json:"p999ms"`
	Max  float64 `json:"maxMs"`
}

// MarshalJSON writes milliseconds with three decimals.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	ms := func(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e3 }
	return json.Marshal(quantilesJSON{q.N, ms(q.P50), ms(q.P90), ms(q.P99), ms(q.P999), ms(q.Max)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (q *Quantiles) UnmarshalJSON(data []byte) error {
	var in quantilesJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read quantiles: %w", err)
	}
	ms := func(v float64) time.Duration { return time.Duration(math.Round(v * 1e6)) }
	*q = Quantiles{in.N, ms(in.P50), ms(in.P90), ms(in.P99), ms(in.P999), ms(in.Max)}
	return nil
}

// P99 asserts that the 99 % quantile of response times is at most bound. Fewer
// than 1,000 requests say nothing about it.
func P99(id, subject string, l Latency, bound time.Duration) Assertion {
	a := AtMost(id, subject, "seconds", l.Quantile(.99).Seconds(), bound.Seconds())
	a.N = l.N()
	if a.N < 1000 {
		a.Verdict, a.Detail = Inconclusive, "fewer than 1,000 requests"
		return a
	}
	a.Detail = fmt.Sprintf("median %s", Quantity(l.Quantile(.5).Seconds(), "seconds"))
	return a
}
