package loadgen

import (
	"time"

	"secondhop/internal/units"
)

// Summary is the outcome of a run. In JSON, times are whole nanoseconds.
type Summary struct {
	Version int  `json:"version"` // of this layout: 1
	Plan    Plan `json:"plan"`

	Start       Start         `json:"start"`
	Elapsed     time.Duration `json:"elapsed"`     // until the last request was done
	Interrupted bool          `json:"interrupted"` // told to end before the schedule was through

	Valid   bool     `json:"valid"`   // the figures are about the system, not the generator
	Reasons []string `json:"reasons"` // why it is not valid

	Offered      float64 `json:"offered"`  // requests per second from the first scheduled instant to the last
	Achieved     float64 `json:"achieved"` // the same of the instants at which they were taken up
	Requests     uint64  `json:"requests"` // all that were due
	Failed       uint64  `json:"failed"`
	RequestBytes int     `json:"requestBytes"` // of one request, head and body
	BodyBytes    int64   `json:"bodyBytes"`    // of all answers

	ByClass  map[string]uint64            `json:"byClass"`  // "ok" and the classes of failures
	ByStatus map[string]uint64            `json:"byStatus"` // of answers with a status
	ByTarget map[string]uint64            `json:"byTarget"` // requests by the target chosen
	ByServer map[string]map[string]uint64 `json:"byServer"` // answers by ingress node and its HAProxy server
	ByPod    map[string]uint64            `json:"byPod"`

	Response Quantiles `json:"response"` // from the scheduled instant
	Service  Quantiles `json:"service"`  // from the taking up
	Lateness Quantiles `json:"lateness"`
	Connect  Quantiles `json:"connect"` // of requests that opened a connection

	Events      []Event     `json:"events"`
	Connections Connections `json:"connections"`
	Host        Host        `json:"host"`
}

// Start is the zero of all times of a run on two clocks.
type Start struct {
	Wall      time.Time     `json:"wall"`
	Monotonic time.Duration `json:"monotonic"` // CLOCK_MONOTONIC, the same in all containers of a machine
}

// Quantiles describe a distribution of times, exact to 3 digits.
type Quantiles struct {
	N    int64         `json:"n"`
	Mean time.Duration `json:"mean"`
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
	P999 time.Duration `json:"p999"`
	Max  time.Duration `json:"max"`
}

// Event is a target that was taken out or came back.
type Event struct {
	At     time.Duration `json:"at"`
	Node   string        `json:"node"`
	Up     bool          `json:"up"`
	Reason string        `json:"reason"` // result of the probe that decided
}

// Connections says what the run did with connections.
type Connections struct {
	Opened       uint64 `json:"opened"`       // each took a local port
	Peak         int    `json:"peak"`         // open at once
	ClosedByPeer uint64 `json:"closedByPeer"` // found closed while idle, before anything was sent on them
	Waited       uint64 `json:"waited"`       // requests that found no connection free and might not open one
	Ports        int    `json:"ports"`        // local ports that this machine has for connections
}

// Host says what the run cost this machine.
type Host struct {
	Cores    float64       `json:"cores"`    // that the process may run on
	CPUUsed  time.Duration `json:"cpuUsed"`  // by the process
	CPUShare float64       `json:"cpuShare"` // of those cores
	RunDelay time.Duration `json:"runDelay"` // its threads were ready but had no core, summed
	Realtime bool          `json:"realtime"` // it had real-time priority
	GCPauses Quantiles     `json:"gcPauses"`
	Memory   units.Bytes   `json:"memory"` // peak resident size
}

// Status is one line of progress on standard output, once a second.
type Status struct {
	State     string        `json:"state"` // "running", then "finished" or "interrupted"
	Elapsed   time.Duration `json:"elapsed"`
	Sent      uint64        `json:"sent"` // taken up
	Done      uint64        `json:"done"`
	Failed    uint64        `json:"failed"`
	InFlight  int64         `json:"inFlight"`
	TargetsUp int           `json:"targetsUp"`
}
