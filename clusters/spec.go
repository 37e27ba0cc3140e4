// Package clusters makes the lab: a real Kubernetes cluster of several nodes in
// containers, on a network that nothing gets out of, with links of a chosen rate.
package clusters

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"secondhop/clusters/cni"
	"secondhop/clusters/images"
	"secondhop/clusters/links"
	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// ProxyMode is how kube-proxy balances Services on the nodes.
type ProxyMode string

// The modes that the lab knows. IPVS is left out: many kernels lack it.
const (
	IPTables ProxyMode = "iptables"
	NFTables ProxyMode = "nftables"
)

// Spec is what a lab is to be.
type Spec struct {
	Name string `json:"name"`
	// Kubernetes is a version without the leading "v".
	Kubernetes string `json:"kubernetes"`
	// Workers and Zones count; the control plane comes on top and has no zone.
	Workers   int       `json:"workers"`
	Zones     int       `json:"zones"`
	ProxyMode ProxyMode `json:"proxyMode"`
	// Link is what both directions of each worker's link are shaped to.
	Link units.BitRate `json:"link"`
}

// DefaultSpec is the lab that one gets without asking for another.
func DefaultSpec() Spec {
	return Spec{Name: "secondhop", Kubernetes: "1.34.4", Workers: 4, Zones: 2, ProxyMode: IPTables, Link: units.Gigabit}
}

// maxWorkers leaves room in the pod network and among the addresses of the lab's
// network that Docker gives out.
const maxWorkers = 100

// Validate says what cannot be accepted, in terms of the command line.
func (s Spec) Validate() error {
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`).MatchString(s.Name) {
		return failure.Input(fmt.Errorf("--name %q is no name for a lab", s.Name),
			"use at most 40 lower-case letters, digits and dashes, such as secondhop")
	}
	if _, err := images.ParseVersion(s.Kubernetes); err != nil {
		return failure.Input(fmt.Errorf("--kubernetes: %w", err), "use a version such as "+DefaultSpec().Kubernetes)
	}
	if s.Workers < 1 || s.Workers > min(maxWorkers, cni.MaxNodes-1) {
		return failure.Input(fmt.Errorf("--workers %d is out of range", s.Workers), fmt.Sprintf("use 1 to %d workers", maxWorkers))
	}
	if s.Zones < 1 || s.Zones > min(s.Workers, 26) {
		return failure.Input(fmt.Errorf("--zones %d is out of range", s.Zones),
			fmt.Sprintf("use 1 to %d zones for %d workers", min(s.Workers, 26), s.Workers))
	}
	if s.ProxyMode != IPTables && s.ProxyMode != NFTables {
		return failure.Input(fmt.Errorf("--proxy-mode %q is unknown", s.ProxyMode), "use iptables or nftables")
	}
	if err := links.ValidateRate(s.Link); err != nil {
		return failure.Input(fmt.Errorf("--link: %w", err), "use a rate such as 100mbit or 1gbit")
	}
	return nil
}

// Hash names what cannot change in a running lab. Link is not in it: links are
// shaped anew in place.
func (s Spec) Hash() string {
	s.Link = 0
	text, err := json.Marshal(struct {
		Spec
		Link any `json:"link,omitempty"`
	}{Spec: s})
	if err != nil { // a struct of strings and numbers
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// zone is the name of the zone of a worker: zone-a, zone-b and so on. Workers of a
// zone are neighbours in the order of nodes, and zones differ by one at most.
func (s Spec) zone(worker int) string {
	return "zone-" + string(rune('a'+worker*s.Zones/s.Workers))
}

// nodeName is the name of a node, of its container and of its Kubernetes object.
// Index 0 is the control plane. The names are those that kind gives.
func (s Spec) nodeName(index int) string {
	switch index {
	case 0:
		return s.Name + "-control-plane"
	case 1:
		return s.Name + "-worker"
	}
	return s.Name + "-worker" + strconv.Itoa(index)
}

// differences says in words how a lab differs from what is asked for.
func (s Spec) differences(asked Spec) []string {
	var words []string
	add := func(name string, have, want any) {
		if have != want {
			words = append(words, fmt.Sprintf("%s %v instead of %v", name, have, want))
		}
	}
	add("Kubernetes", s.Kubernetes, asked.Kubernetes)
	add("workers", s.Workers, asked.Workers)
	add("zones", s.Zones, asked.Zones)
	add("proxy mode", s.ProxyMode, asked.ProxyMode)
	return words
}
