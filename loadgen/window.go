package loadgen

import (
	"io"
	"time"
)

// Window is a part of a run, [From, To) since its start. A request belongs to the
// window in which it was scheduled, so that one that a fault has held up counts
// against the time of the fault, however late it ended.
type Window struct {
	Name string        `json:"name"`
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// WindowSummary is what the requests of one window came to.
type WindowSummary struct {
	Window
	Requests uint64           `json:"requests"`
	Failed   uint64           `json:"failed"`
	ByClass  map[Class]uint64 `json:"byClass"`
	Response Quantiles        `json:"response"`
	Service  Quantiles        `json:"service"`
	Lateness Quantiles        `json:"lateness"`
}

// Windows reads records once and sums them up per window. Windows may overlap and
// leave gaps. Memory does not depend on the number of records.
func Windows(records io.Reader, windows []Window) ([]WindowSummary, error) {
	type tally struct{ response, service, lateness *histogram }
	sums := make([]WindowSummary, len(windows))
	tallies := make([]tally, len(windows))
	for i, w := range windows {
		sums[i] = WindowSummary{Window: w, ByClass: make(map[Class]uint64)}
		tallies[i] = tally{newHistogram(), newHistogram(), newHistogram()}
	}
	err := ReadRecords(records, func(r Record) error {
		for i, w := range windows {
			if r.Scheduled < w.From || r.Scheduled >= w.To {
				continue
			}
			sums[i].Requests++
			sums[i].ByClass[r.Class]++
			if r.Failed() {
				sums[i].Failed++
			}
			tallies[i].response.record(r.Response())
			tallies[i].service.record(r.Service())
			tallies[i].lateness.record(r.Lateness())
		}
		return nil
	})
	for i, t := range tallies {
		sums[i].Response, sums[i].Service, sums[i].Lateness =
			t.response.quantiles(), t.service.quantiles(), t.lateness.quantiles()
	}
	return sums, err
}
