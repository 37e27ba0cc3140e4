// Package render writes HAProxy's configuration. It is pure: values in, text out,
// so that the text can be compared, kept in golden files and checked.
package render

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// Config is a whole configuration.
type Config struct {
	Process  Process
	Routes   []Route // in order of preference
	Backends []Backend
}

// Process is what does not depend on the objects in the cluster.
type Process struct {
	Node        string // value of the header X-Ingress-Node
	Bind        string // address of the frontend with policies, such as ":80"
	PlainBind   string // address of the frontend without, such as ":81"
	StatsSocket string
	StateFile   string
	Threads     int
	MaxConn     int // 0 leaves it to HAProxy
	// HardStopAfter bounds how long a replaced worker may live on.
	HardStopAfter time.Duration
}

// Route sends the requests of one host and path to a backend of each frontend.
type Route struct {
	Host    string // "" is any; "*.example.org" is any one label
	Path    string
	Exact   bool   // else the path is a prefix of whole segments
	Backend string // in the frontend with policies
	Plain   string // in the frontend without
}

// Backend is one pool of servers.
type Backend struct {
	Name string
	// Track names the backend whose servers of the same name decide about the
	// health of this one's; "" makes this backend check its own.
	Track string
	// Redispatch lets another server answer when one fails; switched off only to
	// show what it is good for.
	Redispatch bool
	// OneConnectionEach gives every request a connection of its own: behind a
	// server that is a Service, kube-proxy chooses a pod for each connection.
	OneConnectionEach bool
	Servers           []Server
	Slots             []Slot
	Published         bool // draws slots as the method was first published
}

// Server is a regular server: a place that an endpoint can be put into.
type Server struct {
	Name string
	// Address is zero for a place that is free.
	Address netip.AddrPort
	Enabled bool // never for a free one
}

// Slot is a server that only the draw picks.
type Slot struct {
	Number    int
	Address   string // host:port
	AgentPort uint16
}

// Name is the slot's name as a server.
func (s Slot) Name() string { return "slot" + strconv.Itoa(s.Number) }

// Names of the backends that edge has for itself.
const (
	// HealthBackend answers no request: the state of its one server, HealthServer,
	// is what the health page of both frontends tells.
	HealthBackend = "edge-health"
	HealthServer  = "ready"
	unmatched     = "edge-unmatched"
)

// HealthPath is where both frontends tell whether they want traffic.
const HealthPath = "/-/ready"

// Placeholder is the address of a free server: valid for HAProxy, and nothing
// listens there.
func Placeholder() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1)
}

// Addresses says what to write for the addresses of regular servers.
type Addresses int

const (
	// InText writes them, so that a new worker knows them.
	InText Addresses = iota
	// RuntimeOnly writes placeholders, as if only the runtime API knew them.
	// Everything that can change without a reload is then out of the text: two
	// configurations with the same such text differ in nothing else.
	RuntimeOnly
)

// Set reads the value of the flag --addresses.
func (a *Addresses) Set(text string) error {
	switch text {
	case "text":
		*a = InText
	case "runtime-only":
		*a = RuntimeOnly
	default:
		return fmt.Errorf("%q is neither text nor runtime-only", text)
	}
	return nil
}

// String is the inverse of Set.
func (a *Addresses) String() string {
	if *a == RuntimeOnly {
		return "runtime-only"
	}
	return "text"
}

// Type is how help texts name the value.
func (a *Addresses) Type() string { return "text|runtime-only" }
