// Package cni is the lab's pod network: a point-to-point link from every pod to
// its node, and on every node one static route to each other node's pods.
//
// It has no daemon and rewrites no addresses: a packet between two pods, or
// between a node and a pod, has the same source and destination everywhere, so
// that bytes can be told apart by address.
package cni

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// Pods and Services are the address ranges of every lab; DNS is the address of
// the cluster's name service, the tenth of Services as kubeadm chooses it.
func Pods() netip.Prefix     { return netip.MustParsePrefix("198.18.128.0/17") }
func Services() netip.Prefix { return netip.MustParsePrefix("198.19.0.0/16") }
func DNS() netip.Addr        { return netip.MustParseAddr("198.19.0.10") }

// MaxNodes is how many nodes have room in Pods.
const MaxNodes = 128

// PodCIDR is the /24 of Pods for the node with that index; the control plane has 0.
func PodCIDR(node int) (netip.Prefix, error) {
	if node < 0 || node >= MaxNodes {
		return netip.Prefix{}, fmt.Errorf("node %d: only %d nodes have room in %s", node, MaxNodes, Pods())
	}
	base := Pods().Addr().As4()
	base[2] += byte(node)
	return netip.PrefixFrom(netip.AddrFrom4(base), 24), nil
}

// congestionControl is what TCP uses in the lab, whatever the host's default is:
// the one that most servers use, and one that fills a link by its drops.
const congestionControl = "cubic"

// conflist is the CNI network configuration for pods of one node. With tuning,
// pods get the lab's congestion control: a new namespace takes the host's default,
// not that of the node around it.
func conflist(pods netip.Prefix, tuning bool) ([]byte, error) {
	type object = map[string]any
	plugins := []object{
		{
			"type":   "ptp",
			"ipMasq": false,
			"mtu":    1500,
			"ipam": object{
				"type":    "host-local",
				"dataDir": "/run/cni-ipam-state",
				"ranges":  [][]object{{{"subnet": pods.String()}}},
				"routes":  []object{{"dst": "0.0.0.0/0"}},
			},
		},
		{"type": "portmap", "capabilities": object{"portMappings": true}},
	}
	if tuning {
		plugins = append(plugins, object{
			"type":   "tuning",
			"sysctl": object{"net.ipv4.tcp_congestion_control": congestionControl},
		})
	}
	return json.MarshalIndent(object{"cniVersion": "0.4.0", "name": "secondhop", "plugins": plugins}, "", "  ")
}
