package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// Latency describes times of requests. Quantiles of it are exact, by nearest
// rank: the smallest observed time that at least the part q of all does not exceed.
type Latency struct {
	sorted []time.Duration
}

// NewLatency takes the times in any order; the slice is not kept.
func NewLatency(times []time.Duration) Latency {
	return Latency{sorted: slices.Sorted(slices.Values(times))}
}

// N is the number of times.
func (l Latency) N() int64 { return int64(len(l.sorted)) }

// Quantile is the q-quantile, q in [0, 1]; 0 when there are no times.
func (l Latency) Quantile(q float64) time.Duration {
	if len(l.sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q*float64(len(l.sorted)) - 1e-9))
	return l.sorted[min(max(rank, 1), len(l.sorted))-1]
}

// Summary is the usual quantiles.
func (l Latency) Summary() Quantiles {
	return Quantiles{N: l.N(), P50: l.Quantile(.5), P90: l.Quantile(.9), P99: l.Quantile(.99), P999: l.Quantile(.999), Max: l.Quantile(1)}
}

// Merge is all times of both; quantiles are never averaged.
func (l Latency) Merge(other Latency) Latency {
	return NewLatency(append(slices.Clone(l.sorted), other.sorted...))
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
