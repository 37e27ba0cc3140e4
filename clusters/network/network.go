// Package network makes the lab's network: a Docker bridge network out of which
// nothing can get.
//
// A load test must never reach a neighbour's machines, even when a route is
// missing or the cluster vanishes under it. Three things see to that:
//   - addresses come from 198.18.0.0/15, the range that RFC 2544 sets aside for
//     benchmarks and that nobody routes;
//   - nothing is masqueraded, and a rule in DOCKER-USER (see Guard) rejects at once
//     what would be forwarded from the bridge to anywhere but the bridge;
//   - an unreachable route for the whole range stops what the host itself would
//     send there when the bridge is gone.
//
// Traffic from the lab to addresses of the host itself is not forwarded and so not
// guarded: the load generator refuses targets that are not lab addresses.
package network

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"secondhop/clusters/engine"
	"secondhop/internal/command"
	"secondhop/internal/failure"
)

// Range holds every address of every lab.
func Range() netip.Prefix { return netip.MustParsePrefix("198.18.0.0/15") }

// Network is a lab's network as it is to be.
type Network struct {
	Name    string
	Bridge  string
	Subnet  netip.Prefix
	Gateway netip.Addr
	// Nodes is the part of Subnet that Docker gives out by itself; the rest is for
	// fixed addresses.
	Nodes  netip.Prefix
	Labels map[string]string
}

// Lab is the network of the lab of that name. All labs have the same addresses:
// only one can run at a time.
func Lab(name string) Network {
	return Network{
		Name:    name,
		Bridge:  bridge(name),
		Subnet:  netip.MustParsePrefix("198.18.0.0/24"),
		Gateway: netip.MustParseAddr("198.18.0.1"),
		Nodes:   netip.MustParsePrefix("198.18.0.0/25"),
		Labels:  map[string]string{engine.LabLabel: name},
	}
}

// bridge is a device name for a network: the kernel takes 15 characters.
func bridge(name string) string {
	const limit = 15
	if device := "br-" + name; len(device) <= limit {
		return device
	}
	sum := sha256.Sum256([]byte(name))
	return "br-" + name[:5] + "-" + hex.EncodeToString(sum[:3])
}

// Create makes the Docker network. What is in its way is named with its cure.
func (n Network) Create(ctx context.Context) error {
	args := []string{"network", "create", "--driver", "bridge",
		"--subnet", n.Subnet.String(), "--gateway", n.Gateway.String(), "--ip-range", n.Nodes.String(),
		"--opt", "com.docker.network.bridge.name=" + n.Bridge,
		"--opt", "com.docker.network.bridge.enable_ip_masquerade=false",
		"--opt", "com.docker.network.driver.mtu=1500",
	}
	keys := make([]string, 0, len(n.Labels))
	for key := range n.Labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		args = append(args, "--label", key+"="+n.Labels[key])
	}
	_, err := engine.Run(ctx, append(args, n.Name)...)
	if err != nil {
		return fmt.Errorf("create network %s: %w", n.Name, n.explain(ctx, err))
	}
	return nil
}

func (n Network) explain(ctx context.Context, err error) error {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch {
	case strings.Contains(failed.Output, "already exists") && strings.Contains(failed.Output, n.Name):
		return nameInUse(n.Name)
	case strings.Contains(failed.Output, "Pool overlaps"), strings.Contains(failed.Output, "overlap"):
		holder, cure := n.overlapping(ctx)
		return failure.Infra(fmt.Errorf("the addresses %s are in use by Docker network %s", n.Subnet, holder), cure)
	case strings.Contains(failed.Output, n.Bridge):
		return failure.Infra(fmt.Errorf("the device name %s is in use (%w)", n.Bridge, err), "choose another name with --name")
	}
	return err
}

func nameInUse(name string) error {
	return failure.Infra(fmt.Errorf("a Docker network named %s exists that is no lab of secondhop", name),
		fmt.Sprintf("choose another name with --name, or remove it: docker network rm %s", name))
}

// overlapping finds the network that has the addresses, and says how to be rid of it.
func (n Network) overlapping(ctx context.Context) (name, cure string) {
	out, err := engine.Run(ctx, "network", "ls", "--filter", "driver=bridge", "--format", "{{.Name}}")
	if err != nil {
		return "unknown", "docker network ls"
	}
	for _, other := range strings.Fields(out) {
		found, err := Inspect(ctx, other)
		if err != nil || found == nil || !found.overlaps(n.Subnet) {
			continue
		}
		if lab := found.Labels[engine.LabLabel]; lab != "" {
			return other, "secondhop down --name " + lab
		}
		return other, "docker network rm " + other
	}
	return "unknown", "docker network ls"
}

// Existing is a Docker network as it is.
type Existing struct {
	ID      string
	Labels  map[string]string
	Subnets []netip.Prefix
	// Containers are the names of those that are connected.
	Containers []string
}

func (e *Existing) overlaps(prefix netip.Prefix) bool {
	return slices.ContainsFunc(e.Subnets, prefix.Overlaps)
}
