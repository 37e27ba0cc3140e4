package loadgen

import (
	"time"

	"secondhop/loadgen/wire"
)

// Class says how a request ended; "" is a whole answer with a status below 400.
// The classes are the constants of package wire.
type Class = wire.Class

// Record is everything known about one request. Times count from the start of
// the run (Summary.Start); a time of 0 for FirstByte or Connect means that there
// was none. In JSON, times are whole nanoseconds.
type Record struct {
	ID        uint64        `json:"id"`
	Node      string        `json:"node,omitempty"` // chosen by the edge balancer; "" when none was left
	Scheduled time.Duration `json:"scheduled"`      // when the plan wanted it
	Sent      time.Duration `json:"sent"`           // when it was taken up: dialling or writing began
	FirstByte time.Duration `json:"firstByte,omitempty"`
	Done      time.Duration `json:"done"`
	Connect   time.Duration `json:"connect,omitempty"` // time spent on opening a connection
	Status    int           `json:"status,omitempty"`
	Class     Class         `json:"class,omitempty"`
	Detail    string        `json:"detail,omitempty"` // the error in words, for failed requests
	Bytes     int64         `json:"bytes"`            // of body received

	// Who served it, as the answer's headers X-Ingress-Node, X-Server, X-Pod and X-Node say.
	IngressNode string `json:"ingressNode,omitempty"`
	Server      string `json:"server,omitempty"`
	Pod         string `json:"pod,omitempty"`
	PodNode     string `json:"podNode,omitempty"`

	Reused bool   `json:"reused,omitempty"` // sent on a kept connection
	Port   uint16 `json:"port,omitempty"`   // local port, to find it in a packet dump
}

// Response is the response time: from the scheduled instant to the end. What
// the generator or a stalled server made the request wait for is in it.
func (r Record) Response() time.Duration { return r.Done - r.Scheduled }

// Service is the service time: from taking the request up to its end.
func (r Record) Service() time.Duration { return r.Done - r.Sent }

// Lateness is how much later than planned the generator took the request up.
func (r Record) Lateness() time.Duration { return r.Sent - r.Scheduled }

// Failed tells whether the user behind the request would be unhappy.
func (r Record) Failed() bool { return r.Class != wire.OK }
