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

// binned is a Bin while it is filled.
type binned struct {
	local, slot Share
	failed      int64
	latency     Latency
}

func (b *binned) add(r loadgen.Record) {
	if r.Failed() {
		b.failed++
		return
	}
	b.latency.add(r.Response())
	if unattributed(r) {
		return
	}
	b.local.N++
	b.slot.N++
	if r.PodNode == r.IngressNode {
		b.local.Hits++
	}
	if FromSlot(r) {
		b.slot.Hits++
	}
}

// Bins cuts a run into windows of the given width, one after the other from the
// start of the window until its end; the last one may be cut short. The order of
// the records does not matter.
func Bins(records []loadgen.Record, w Window, width time.Duration) []Bin {
	bins, _ := BinsOf(Records(records), w, width) // memory cannot fail
	return bins
}

// BinsOf is Bins of a source; its error is the source's.
func BinsOf(from Source, w Window, width time.Duration) ([]Bin, error) {
	if width <= 0 {
		return nil, nil
	}
	end := w.To
	var filled []binned
	err := from.Each(func(r loadgen.Record) error {
		if !w.Contains(r.Scheduled) {
			return nil
		}
		i := int((r.Scheduled - w.From) / width)
		for len(filled) <= i {
			filled = append(filled, binned{})
		}
		filled[i].add(r)
		if w.To == 0 {
			end = max(end, r.Scheduled+1)
		}
		return nil
	})
	if err != nil || end <= w.From {
		return nil, err
	}
	bins := make([]Bin, (end-w.From+width-1)/width)
	for i := range bins {
		from := w.From + time.Duration(i)*width
		bins[i].Window = Window{from, min(from+width, end)}
		if i < len(filled) {
			f := &filled[i]
			bins[i].Local, bins[i].Slot, bins[i].Failed, bins[i].Latency = f.local, f.slot, f.failed, f.latency.Summary()
		}
	}
	return bins, nil
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
	return f.recover(Bins(records, Window{t0, until}, recoveryStep), t0, expected, width)
}

func (f Family) recover(bins []Bin, t0 time.Duration, expected float64, width time.Duration) Recovery {
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
	a, _ := f.RecoveredOf(id, subject, Records(records), Window{t0, until}, expected, width, bound) // memory cannot fail
	return a
}

// RecoveredOf is Recovered of a source, in the window that begins with the event; its
// error is the source's.
func (f Family) RecoveredOf(id, subject string, from Source, w Window, expected float64, width, bound time.Duration) (Assertion, error) {
	bins, err := BinsOf(from, w, recoveryStep)
	if err != nil {
		return Assertion{}, err
	}
	r := f.recover(bins, w.From, expected, width)
	a := AtMost(id, subject, "seconds", r.Took.Seconds(), bound.Seconds())
	a.N, a.Tests = r.N, 1
	switch {
	case r.Windows == 0:
		a.Verdict, a.Observed = Inconclusive, (w.To - w.From).Seconds()
		a.Detail = fmt.Sprintf("the run ends before a window of %s is over", width)
	case !r.Recovered:
		a.Verdict, a.Observed = Fail, (w.To - w.From).Seconds()
		a.Detail = fmt.Sprintf("the local share is %.4f in the last window, want %.4f", r.Last.Ratio(), expected)
	default:
		a.Detail = fmt.Sprintf("%d windows of %s with %s requests or more, at %.4f in the last, want %.4f",
			r.Windows, width, Count(r.N), r.Last.Ratio(), expected)
	}
	return a, nil
}
