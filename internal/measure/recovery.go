package measure

import (
	"fmt"
	"time"

	"secondhop/loadgen"
)

// Bin is the local share of the requests scheduled in a window.
type Bin struct {
	Window
	Local   Share
	Slot    Share
	Failed  int64
	Latency Quantiles
}

// Bins cuts a run into windows of the given width, one after the other from the
// start of the window until its end; the last one may be cut short. The order of
// the records does not matter.
func Bins(records []loadgen.Record, w Window, width time.Duration) []Bin {
	end := w.To
	if end == 0 {
		for _, r := range records {
			end = max(end, r.Scheduled+1)
		}
	}
	if width <= 0 || end <= w.From {
		return nil
	}
	tallies := make([]*Tally, (end-w.From+width-1)/width)
	for i := range tallies {
		tallies[i] = NewTally()
	}
	for _, r := range records {
		if r.Scheduled >= w.From && r.Scheduled < end {
			tallies[(r.Scheduled-w.From)/width].Add(r)
		}
	}
	bins := make([]Bin, len(tallies))
	for i, t := range tallies {
		from := w.From + time.Duration(i)*width
		bins[i] = Bin{
			Window: Window{from, min(from+width, end)}, Local: t.LocalShare(), Slot: t.SlotShare(),
			Failed: t.Failed, Latency: t.Response().Summary(),
		}
	}
	return bins
}

// Recovery is how fast a share came back after an event.
type Recovery struct {
	// Took is from the event to the first instant from which the share stayed at
	// its expected value; it is only set when Recovered.
	Took      time.Duration
	Recovered bool
	// Windows is the number of windows that were looked at, N the requests in the
	// thinnest of them, and Last the share in the last one.
	Windows int
	N       int64
	Last    Share
}

// recoveryStep is the resolution of a recovery: windows start this far apart.
const recoveryStep = time.Second

// Recover finds the first instant after t0 from which the local share stays in
// the interval that the family accepts: windows of the given width slide over
// the rest of the run by a second, and the instant is the start of the first
// window from which on all windows are accepted. The level is divided among the
// windows, so that chance does not delay a recovery.
func (f Family) Recover(records []loadgen.Record, t0, until time.Duration, expected float64, width time.Duration) Recovery {
	bins := Bins(records, Window{t0, until}, recoveryStep)
	per := int(width / recoveryStep)
	var r Recovery
	if per < 1 || len(bins) < per {
		return r
	}
	r.Windows = len(bins) - per + 1
	single := f
	single.Tests = f.Tests * r.Windows
	accepted := 0 // windows at the end that are all accepted
	for i := r.Windows - 1; i >= 0; i-- {
		var s Share
		for _, bin := range bins[i : i+per] {
			s = s.Plus(bin.Local)
		}
		if i == r.Windows-1 {
			r.N, r.Last = s.N, s
		}
		r.N = min(r.N, s.N)
		if s.N == 0 || !single.Accept(s.N, expected).Contains(s.Ratio()) {
			break
		}
		accepted++
	}
	r.Recovered = accepted > 0
	if r.Recovered {
		r.Took = bins[r.Windows-accepted].From - t0
	}
	return r
}

// Recovered asserts that the local share is back within the bound after t0.
func (f Family) Recovered(id, subject string, records []loadgen.Record, t0, until time.Duration, expected float64, width, bound time.Duration) Assertion {
	r := f.Recover(records, t0, until, expected, width)
	a := AtMost(id, subject, "seconds", r.Took.Seconds(), bound.Seconds())
	a.N, a.Tests = r.N, 1
	switch {
	case r.Windows == 0:
		a.Verdict, a.Observed = Inconclusive, (until - t0).Seconds()
		a.Detail = fmt.Sprintf("the run ends before a window of %s is over", width)
	case !r.Recovered:
		a.Verdict, a.Observed = Fail, (until - t0).Seconds()
		a.Detail = fmt.Sprintf("the local share is %.4f in the last window, want %.4f", r.Last.Ratio(), expected)
	default:
		a.Detail = fmt.Sprintf("%d windows of %s with %s requests or more, at %.4f in the last, want %.4f",
			r.Windows, width, Count(r.N), r.Last.Ratio(), expected)
	}
	return a
}
