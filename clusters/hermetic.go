package clusters

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"secondhop/clusters/netns"
	"secondhop/clusters/network"
)

// ProveHermetic dials a stand-in for the outside from every node, from every pod
// with a network of its own and from the given containers beside them. It returns
// what happened, and an error unless each attempt was refused at once and the
// guard's packet counter shows it.
func (c *Cluster) ProveHermetic(ctx context.Context, beside ...string) ([]network.Attempt, error) {
	nodes, err := c.podNetwork(ctx)
	if err != nil {
		return nil, err
	}
	var insiders []network.Insider
	for _, node := range nodes {
		insiders = append(insiders, network.Insider{Name: node.Name, NetNS: node.Namespace()})
		insiders = append(insiders, podNamespaces(node.Name, node.Pid)...)
	}
	for _, name := range slices.Sorted(slices.Values(beside)) {
		path, err := netns.Path(ctx, name)
		if err != nil {
			return nil, err
		}
		insiders = append(insiders, network.Insider{Name: name, NetNS: path})
	}
	return network.Lab(c.Spec.Name).Prove(ctx, insiders...)
}

// podNamespaces finds the network namespaces of a node's pods: containerd mounts
// each that the CNI plug-ins have set up below the node's /run/netns.
func podNamespaces(node string, pid int) []network.Insider {
	mounts, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/root/run/netns/cni-*")
	if err != nil {
		panic(err) // the pattern is constant
	}
	var insiders []network.Insider
	for _, mount := range mounts {
		name := node + "/pod " + strings.TrimPrefix(filepath.Base(mount), "cni-")
		insiders = append(insiders, network.Insider{Name: name, NetNS: mount})
	}
	return insiders
}
