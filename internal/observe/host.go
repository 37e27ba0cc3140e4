package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// HostHealth is how the machine was doing during a window. The shares are of the
// time of all its processors.
type HostHealth struct {
	Window  time.Duration `json:"window"`
	CPUs    int           `json:"cpus"`
	Idle    float64       `json:"idle"`    // nothing to do, waiting for disks included
	User    float64       `json:"user"`    // programs
	System  float64       `json:"system"`  // the kernel for programs
	SoftIRQ float64       `json:"softirq"` // mostly the network
	Steal   float64       `json:"steal"`   // taken by the machine that this one is a guest of
	Load1   float64       `json:"load1"`   // at the end of the window
	// Pressure is the share of the window in which some task waited for a
	// processor; negative on kernels without pressure information.
	Pressure float64 `json:"pressure"`
}

// hostReading is one look at a machine's counters.
type hostReading struct {
	at       time.Time
	cpus     int
	ticks    [8]uint64 // user nice system idle iowait irq softirq steal
	load1    float64
	pressure time.Duration // waiting so far; negative without
}

const (
	tickUser = iota
	tickNice
	tickSystem
	tickIdle
	tickIOWait
	tickIRQ
	tickSoftIRQ
	tickSteal
)

// readHost reads the counters under a proc file system.
func readHost(proc string) (hostReading, error) {
	reading := hostReading{at: time.Now(), pressure: -1}
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return reading, fmt.Errorf("read the machine's load: %w", err)
	}
	if reading.cpus, reading.ticks, err = parseStat(string(stat)); err != nil {
		return reading, fmt.Errorf("read the machine's load: %s/stat: %w", proc, err)
	}
	loadavg, err := os.ReadFile(filepath.Join(proc, "loadavg"))
	if err != nil {
		return reading, fmt.Errorf("read the machine's load: %w", err)
	}
	first, _, _ := strings.Cut(string(loadavg), " ")
	if reading.load1, err = strconv.ParseFloat(first, 64); err != nil {
		return reading, fmt.Errorf("read the machine's load: %s/loadavg: %w", proc, err)
	}
	// Where pressure is compiled in but switched off, reading it fails with
	// "operation not supported"; both are machines without it.
	pressure, err := os.ReadFile(filepath.Join(proc, "pressure", "cpu"))
	if err == nil {
		reading.pressure, err = parsePressure(string(pressure))
		if err != nil {
			return reading, fmt.Errorf("read the machine's load: %s/pressure/cpu: %w", proc, err)
		}
	} else if errors.Is(err, fs.ErrPermission) {
		return reading, fmt.Errorf("read the machine's load: %w", err)
	}
	return reading, nil
}

// parseStat reads the line of all processors and counts those of single ones.
func parseStat(text string) (cpus int, ticks [8]uint64, err error) {
	seen := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if fields[0] != "cpu" {
			cpus++
			continue
		}
		if len(fields) < 1+len(ticks) {
			return 0, ticks, fmt.Errorf("line %q has too few numbers", strings.TrimSpace(line))
		}
		for i := range ticks {
			if ticks[i], err = strconv.ParseUint(fields[1+i], 10, 64); err != nil {
				return 0, ticks, err
			}
		}
		seen = true
	}
	if !seen || cpus == 0 {
		return 0, ticks, errors.New("no line of processors")
	}
	return cpus, ticks, nil
}

// parsePressure reads the microseconds of the line "some ... total=N".
func parsePressure(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "some ") {
			continue
		}
		_, total, found := strings.Cut(strings.TrimSpace(line), "total=")
		if !found {
			break
		}
		micros, err := strconv.ParseInt(total, 10, 64)
		return time.Duration(micros) * time.Microsecond, err
	}
	return 0, errors.New("no line of some pressure")
}

// hostHealth is what happened between two readings.
func hostHealth(before, after hostReading) HostHealth {
	var spent [8]float64
	var all float64
	for i := range spent {
		// A counter of waiting may go back a little when a processor goes to sleep.
		if after.ticks[i] > before.ticks[i] {
			spent[i] = float64(after.ticks[i] - before.ticks[i])
		}
		all += spent[i]
	}
	if all == 0 {
		all = 1 // a window shorter than a tick: every share is 0
	}
	window := after.at.Sub(before.at)
	health := HostHealth{
		Window: window, CPUs: after.cpus, Load1: after.load1, Pressure: -1,
		Idle:    (spent[tickIdle] + spent[tickIOWait]) / all,
		User:    (spent[tickUser] + spent[tickNice]) / all,
		System:  (spent[tickSystem] + spent[tickIRQ]) / all,
		SoftIRQ: spent[tickSoftIRQ] / all,
		Steal:   spent[tickSteal] / all,
	}
	if before.pressure >= 0 && after.pressure >= 0 && window > 0 {
		health.Pressure = float64(after.pressure-before.pressure) / float64(window)
	}
	return health
}
