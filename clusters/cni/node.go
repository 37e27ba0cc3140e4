package cni

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"secondhop/clusters/netns"
)

// Node is what the pod network needs to know of a node.
type Node struct {
	Name    string
	Address netip.Addr
	Pods    netip.Prefix
	// Pid is the node's first process, through which its files and its network
	// namespace are reached.
	Pid int
}

func (n Node) root() string { return fmt.Sprintf("/proc/%d/root", n.Pid) }

// Namespace is the path of the network namespace of the node.
func (n Node) Namespace() string { return fmt.Sprintf("/proc/%d/ns/net", n.Pid) }

// Setup is what was found and set on a node.
type Setup struct {
	// Node and Pods are the congestion control of TCP in the node's namespace and
	// in those of its pods.
	Node string `json:"node"`
	Pods string `json:"pods"`
}

// Install prepares one node: settings of its namespace, routes to the others, and
// last the file that makes the kubelet report that pods can start. Everything is
// done from the host, since a docker exec costs up to a second on a busy machine.
// It may be repeated, as after a restart of the node, which loses the routes.
func Install(node Node, all []Node) (Setup, error) {
	setup, err := install(node, all)
	if err != nil {
		return setup, fmt.Errorf("set up the pod network on %s: %w", node.Name, err)
	}
	return setup, nil
}

func install(node Node, all []Node) (Setup, error) {
	setup := Setup{}
	var err error
	if setup.Node, err = setSysctls(node.Namespace()); err != nil {
		return setup, err
	}
	if err := setRoutes(node, all); err != nil {
		return setup, err
	}
	tuning, err := existsIn(node.root(), "opt/cni/bin/tuning")
	if err != nil {
		return setup, err
	}
	setup.Pods = congestionControl
	if !tuning {
		if setup.Pods, err = hostDefault(); err != nil {
			return setup, err
		}
	}
	text, err := conflist(node.Pods, tuning)
	if err != nil {
		return setup, err
	}
	return setup, writeFile(filepath.Join(node.root(), "etc/cni/net.d"), "10-secondhop.conflist", text)
}

// setSysctls turns forwarding on and pins the congestion control, which it reads
// back.
func setSysctls(namespace string) (string, error) {
	var set string
	err := netns.Do(namespace, func() error {
		for key, value := range map[string]string{"ip_forward": "1", "tcp_congestion_control": congestionControl} {
			if err := os.WriteFile("/proc/sys/net/ipv4/"+key, []byte(value), 0); err != nil {
				return fmt.Errorf("set net.ipv4.%s=%s: %w", key, value, err)
			}
		}
		var err error
		set, err = hostDefault()
		return err
	})
	return set, err
}

// hostDefault is the congestion control of the namespace of the calling thread.
func hostDefault() (string, error) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	return strings.TrimSpace(string(text)), err
}

// setRoutes gives a node its routes to the pods of the others.
func setRoutes(node Node, all []Node) error {
	namespace, err := vnetns.GetFromPath(node.Namespace())
	if err != nil {
		return fmt.Errorf("open its network namespace: %w", err)
	}
	defer namespace.Close()
	handle, err := netlink.NewHandleAt(namespace, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink socket: %w", err)
	}
	defer handle.Close()
	others := slices.DeleteFunc(slices.Clone(all), func(other Node) bool { return other.Name == node.Name })
	return addRoutes(handle, others)
}

// InstallOnHost gives the host routes to all pods. It must be able to answer them:
// without a way back, what the guard refuses would look lost to a pod, which then
// waits for half a minute. The routes go with the lab's bridge.
func InstallOnHost(all []Node) error {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink socket: %w", err)
	}
	defer handle.Close()
	return addRoutes(handle, all)
}

func addRoutes(handle *netlink.Handle, to []Node) error {
	for _, node := range to {
		route := &netlink.Route{
			Dst: &net.IPNet{IP: node.Pods.Addr().AsSlice(), Mask: net.CIDRMask(node.Pods.Bits(), 32)},
			Gw:  node.Address.AsSlice(),
		}
		if err := handle.RouteReplace(route); err != nil {
			return fmt.Errorf("route to the pods of %s by %s: %w", node.Name, node.Address, err)
		}
	}
	return nil
}

// writeFile writes beside the place and renames, so that nobody reads half a file.
func writeFile(dir, name string, text []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(dir, "."+name)
	if err := os.WriteFile(temporary, text, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(dir, name))
}

// existsIn says whether path is there for a process whose root directory is root:
// links are followed as such a process would follow them.
func existsIn(root, path string) (bool, error) {
	dir, err := os.Open(root)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	found, err := unix.Openat2(int(dir.Fd()), path, how)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s in %s: %w", path, root, err)
	}
	return true, unix.Close(found)
}
