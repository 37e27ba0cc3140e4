package loadgen

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histogram holds times from 1 microsecond to 15 minutes to 3 digits in a fixed
// amount of memory.
type histogram struct {
	h   *hdrhistogram.Histogram
	max int64
	sum int64 // 292 years of response times fit
}

const histogramTop = int64(15 * time.Minute)

func newHistogram() *histogram {
	return &histogram{h: hdrhistogram.New(int64(time.Microsecond), histogramTop, 3)}
}

// record takes one time; a negative one counts as 0 and one past the top as the
// top; the exact maximum and sum are kept beside.
func (h *histogram) record(d time.Duration) {
	ns := max(int64(d), 0)
	h.max = max(h.max, ns)
	h.sum += ns
	// It fails for values past the top only.
	_ = h.h.RecordValue(min(ns, histogramTop))
}

func (h *histogram) quantiles() Quantiles {
	at := func(percent float64) time.Duration {
		// A bucket reports its upper edge, which can lie beyond the largest value.
		return time.Duration(min(h.h.ValueAtQuantile(percent), h.max))
	}
	n := h.h.TotalCount()
	return Quantiles{
		N: n, Mean: time.Duration(h.sum / max(n, 1)),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: time.Duration(h.max),
	}
}
