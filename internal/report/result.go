// Package report turns measured rows and judged assertions into what people and
// machines read: a terminal table, a versioned result.json, JUnit XML, a picture,
// and the one line that says what came of the run.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/measure"
	"secondhop/internal/units"
)

// Schema names the layout of result.json. Fields may be added under the same
// name; a change that breaks readers gets another one.
const Schema = "secondhop/result/v1"

// Result is everything that is kept of a run. Times are RFC 3339, durations of
// phases are seconds, response times are milliseconds, shares are fractions.
type Result struct {
	Schema string `json:"schema"`
	// Started is when the run began, Updated when the file was last written.
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	// Finished is false while the run goes on, and for ever if it died.
	Finished    bool        `json:"finished"`
	Environment Environment `json:"environment"`
	// Family is the budget of statistical tests; Tests is how many were made.
	Family      measure.Family `json:"family"`
	Tests       int            `json:"tests"`
	Calibration []Calibration  `json:"calibration,omitempty"`
	Phases      []Phase        `json:"phases,omitempty"`
	Rows        []Row          `json:"rows,omitempty"`
	Groups      []Group        `json:"groups,omitempty"`
	Problems    []Problem      `json:"problems,omitempty"`
	Artifacts   []Artifact     `json:"artifacts,omitempty"`
	Verdict     Verdict        `json:"verdict"`
}

// Environment is where and how the run was made.
type Environment struct {
	CPUs    int         `json:"cpus,omitempty"`
	Memory  units.Bytes `json:"memory,omitempty"`
	Arch    string      `json:"arch,omitempty"`
	Kernel  string      `json:"kernel,omitempty"`
	Docker  string      `json:"docker,omitempty"`
	HAProxy string      `json:"haproxy,omitempty"`

	Kubernetes  string        `json:"kubernetes,omitempty"`
	Image       string        `json:"image,omitempty"`
	ImageDigest string        `json:"imageDigest,omitempty"`
	ImageSource string        `json:"imageSource,omitempty"` // local, pulled or assembled
	Workers     int           `json:"workers,omitempty"`
	Zones       int           `json:"zones,omitempty"`
	ProxyMode   string        `json:"proxyMode,omitempty"`
	Link        units.BitRate `json:"link,omitempty"`

	CongestionControl string `json:"congestionControl,omitempty"`
	GitCommit         string `json:"gitCommit,omitempty"`
	GitDirty          bool   `json:"gitDirty,omitempty"`
	Seed              int64  `json:"seed,omitempty"`
	Command           string `json:"command,omitempty"`
}

// Calibration is what one shaped link really carries.
type Calibration struct {
	Node      string        `json:"node"`
	Direction string        `json:"direction"` // in or out, seen from the node
	Rate      units.BitRate `json:"rate,omitempty"`
	Goodput   units.BitRate `json:"goodput,omitempty"` // TCP payload
	Ideal     units.BitRate `json:"ideal,omitempty"`
}

// Phase is a named part of the run and how long it took.
type Phase struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
}

// Group is the assertions of one test, in the order in which they were made.
type Group struct {
	Name       string              `json:"name"`
	Assertions []measure.Assertion `json:"assertions"`
}

// Problem is what kept the run, or a part of it, from being made.
type Problem struct {
	Stage string        `json:"stage"` // such as provisioning
	Error string        `json:"error"`
	Cure  string        `json:"cure,omitempty"`
	Class failure.Class `json:"class"` // 1 product, 2 infrastructure, 3 usage
}

// Artifact is a file that belongs to the run.
type Artifact struct {
	Path string `json:"path"` // relative to the directory of result.json
	What string `json:"what"`
}

// Read reads a result.json and refuses other layouts by name.
func Read(from io.Reader) (Result, error) {
	var r Result
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	if r.Schema != Schema {
		return Result{}, fmt.Errorf("read result: its schema is %q, this program reads %q", r.Schema, Schema)
	}
	return r, nil
}

// Write writes the result as indented JSON.
func (r Result) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}
