package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Options say what is compared and for how long.
type Options struct {
	Loadgen  string        // path of the loadgen program
	Wrk      string        // path of wrk; "" = not there
	Vegeta   string        // path of vegeta; "" = not there
	Rounds   int           // of which the medians are shown
	Duration time.Duration // of each measurement
	Server   int           // core of the server
	Core     int           // core of the generators
}

// The rates of the paced measurements, in requests per second, and the number of
// connections of the unpaced ones.
const (
	lowRate     = 5_000
	highRate    = 25_000
	connections = 64
)

// measurement is what one generator achieved once; a negative value was not
// measured.
type measurement struct {
	answered float64       // per second
	off      float64       // |achieved rate / offered rate - 1|
	failed   float64       // requests
	late     time.Duration // p99 of sent - scheduled
	response time.Duration // p99
	cpu      time.Duration // of the generator, per request
}

// row is one generator under one kind of load.
type row struct {
	generator, load string
	rate            int // requests per second; 0 = as many as it can
	measure         func(ctx context.Context, o Options, url string, rate int) (measurement, error)
	results         []measurement
}

func rows(o Options) []*row {
	var all []*row
	for _, rate := range []int{lowRate, highRate, 0} {
		load := "as many as it can"
		if rate > 0 {
			load = fmt.Sprintf("%d/s", rate)
		}
		all = append(all, &row{generator: "loadgen", load: load, rate: rate, measure: measureLoadgen})
		if o.Vegeta != "" {
			all = append(all, &row{generator: "vegeta", load: load, rate: rate, measure: measureVegeta})
		}
		if o.Wrk != "" && rate == 0 {
			all = append(all, &row{generator: "wrk (closed loop)", load: load, measure: measureWrk})
		}
	}
	return all
}

// Compare measures all generators in turns, so that what else the machine does
// hits all alike, and writes a table of the medians.
func Compare(ctx context.Context, o Options, to, progress io.Writer) error {
	url, stop, err := startServer(ctx, o)
	if err != nil {
		return err
	}
	defer stop()
	all := rows(o)
	for round := range o.Rounds {
		for i := range all {
			r := all[(i+round)%len(all)]
			fmt.Fprintf(progress, "round %d of %d: %s, %s\n", round+1, o.Rounds, r.generator, r.load)
			m, err := r.measure(ctx, o, url, r.rate)
			if err != nil {
				return fmt.Errorf("bench %s at %s: %w", r.generator, r.load, err)
			}
			r.results = append(r.results, m)
		}
	}
	writeTable(to, all)
	for name, path := range map[string]string{"wrk": o.Wrk, "vegeta": o.Vegeta} {
		if path == "" {
			fmt.Fprintf(to, "%s is not installed: left out\n", name)
		}
	}
	return nil
}

func writeTable(to io.Writer, all []*row) {
	const format = "%-18s  %-17s  %10s  %10s  %7s  %12s  %13s  %11s\n"
	fmt.Fprintf(to, format, "generator", "load", "answered/s", "rate off", "failed", "lateness p99", "response p99", "CPU/request")
	for _, r := range all {
		m := medians(r.results)
		fmt.Fprintf(to, format, r.generator, r.load, fmt.Sprintf("%.1f", m.answered), showPart(m.off),
			fmt.Sprintf("%.0f", m.failed),
			showTime(m.late), showTime(m.response), showTime(m.cpu))
	}
}

func showTime(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f us", float64(d)/float64(time.Microsecond))
}

func showPart(part float64) string {
	if part < 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f %%", 100*part)
}

// medians takes the median of each column by itself.
func medians(results []measurement) measurement {
	return measurement{
		answered: median(results, func(m measurement) float64 { return m.answered }),
		off:      median(results, func(m measurement) float64 { return m.off }),
		failed:   median(results, func(m measurement) float64 { return m.failed }),
		late:     median(results, func(m measurement) time.Duration { return m.late }),
		response: median(results, func(m measurement) time.Duration { return m.response }),
		cpu:      median(results, func(m measurement) time.Duration { return m.cpu }),
	}
}

// median is the middle value, the lower one of two; there is at least one result.
func median[T int | float64 | time.Duration](results []measurement, of func(measurement) T) T {
	values := make([]T, len(results))
	for i, m := range results {
		values[i] = of(m)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
