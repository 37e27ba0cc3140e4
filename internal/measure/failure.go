package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"secondhop/loadgen"
	"secondhop/loadgen/wire"
)

// Failure is a way in which requests failed, and where: what tells one story from
// another. There are few of them in a run, however many requests fail.
type Failure struct {
	Class  loadgen.Class
	Status int    // of the answer, if there was one
	Node   string // that the request was sent to
	Server string // of the ingress, as the answer says
	Pod    string // likewise
}

// Origins of failures.
const (
	OriginGenerator = "generator" // or its machine: it says nothing about the system
	OriginEdge      = "edge"      // the edge balancer had no node, or the node's ingress did not take the connection
	OriginIngress   = "ingress"   // it took the request and no pod answered
	OriginPod       = "pod"       // a pod answered so
)

// FailureOf is what is known of a failed request.
func FailureOf(r loadgen.Record) Failure {
	return Failure{Class: r.Class, Status: r.Status, Node: r.Node, Server: r.Server, Pod: r.Pod}
}

// Own reports whether the generator or its machine failed, and not what it measures.
func (f Failure) Own() bool { return own(f.Class) }

// Origin says in which part of the system the failure arose, as far as the client
// can see.
func (f Failure) Origin() string {
	switch {
	case f.Own(), f.Class == wire.Limit:
		return OriginGenerator
	case f.Class == wire.NoTarget, f.Class == wire.Connect:
		return OriginEdge
	case f.Pod != "":
		return OriginPod
	}
	return OriginIngress
}

// String is "503 at w1, server slot0, pod a".
func (f Failure) String() string {
	text := string(f.Class)
	if f.Class == wire.Status {
		text = fmt.Sprint(f.Status)
	}
	text += " from the " + f.Origin()
	if f.Node != "" {
		text += " at " + f.Node
	}
	if f.Server != "" {
		text += ", server " + f.Server
	}
	if f.Pod != "" {
		text += ", pod " + f.Pod
	}
	return text
}

// mostFailures is how many ways of failing a text tells.
const mostFailures = 5

// FailureText tells failures by how often they happened; "" without any.
func FailureText(counts map[Failure]int64) string {
	ways := slices.SortedFunc(maps.Keys(counts), func(a, b Failure) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.String(), b.String()))
	})
	var parts []string
	for i, way := range ways {
		if i == mostFailures {
			parts = append(parts, fmt.Sprintf("and %d other ways", len(ways)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", Count(counts[way]), way))
	}
	return strings.Join(parts, "; ")
}
