// Package plan turns what the Kubernetes API says into a configuration. It
// remembers which endpoint sits in which server, and nothing else.
package plan

import (
	"time"

	"secondhop/edge/policy"
)

// Snapshot is the part of the cluster that the ingress serves.
type Snapshot struct {
	Node      policy.Node
	Ingresses []Ingress
	Apps      map[AppKey]policy.App // of every rule; absent when the Service or its port is
}

// AppKey names one port of a Service.
type AppKey struct {
	Namespace, Service string
	Port               string // as the Ingress says it: number or name
}

// Ingress is one Ingress object of our class.
type Ingress struct {
	Namespace, Name string
	UID             string
	Created         time.Time
	Policy          string // "" is the fallback
	// Redispatch is off only by an annotation, as a negative control.
	Redispatch bool
	Rules      []Rule
}

// Rule sends a host and path to an app.
type Rule struct {
	Host  string // "" is any
	Path  string
	Exact bool
	App   AppKey
}

// Problem is something that an Ingress asks for and does not get. The rest of
// that Ingress, and all others, are served.
type Problem struct {
	Namespace, Ingress, UID string
	Reason                  string // one word, as in events
	Message                 string
}
