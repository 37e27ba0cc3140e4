// Package links gives the nodes of a lab network cards of a chosen rate, counts
// the bytes on them and measures what they carry.
//
// A node's card is a veth pair: one end in the lab's bridge on the host, the
// other is eth0 in the node. Each end has a token bucket filter as its root
// queueing discipline; both work on what leaves that end, so no ifb is needed:
//
//	bridge == vethXXXX [tbf: into the node] ---> eth0            node
//	          vethXXXX <--- [tbf: out of the node] eth0
//
// All byte counts of the lab are those of these two filters, which see every
// frame as it would be on a wire, GSO packets included, with 14 bytes of
// Ethernet header each.
package links

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"

	"secondhop/clusters/netns"
	"secondhop/internal/units"
)

// device is the name of a node's card inside the node.
const device = "eth0"

// Rates is what a link is shaped to, per direction as the node sees it. Zero
// stands for not shaped.
type Rates struct {
	In  units.BitRate `json:"in"`
	Out units.BitRate `json:"out"`
}

// Both is the same rate in both directions.
func Both(rate units.BitRate) Rates { return Rates{In: rate, Out: rate} }

// Link is one node's card. Close it after use; it is not for concurrent use.
type Link struct {
	node string
	path string
	// in is the host's end, whose queue holds what goes into the node; out the node's.
	in, out end
}

// end is one end of the veth pair with a netlink socket in its namespace.
type end struct {
	handle *netlink.Handle
	link   netlink.Link
}

// Open finds both ends of the card of the running container named node.
func Open(ctx context.Context, node string) (*Link, error) {
	path, err := netns.Path(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("open the link of %s: %w", node, err)
	}
	return OpenAt(node, path)
}

// OpenAt is Open for a network namespace that is known by its path and whose card
// is called eth0; node is only its name in errors and results.
func OpenAt(node, path string) (*Link, error) {
	link := &Link{node: node, path: path}
	if err := link.find(); err != nil {
		link.Close()
		return nil, fmt.Errorf("open the link of %s: %w", node, err)
	}
	return link, nil
}

func (l *Link) find() error {
	inside, err := vnetns.GetFromPath(l.path)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", l.path, err)
	}
	defer inside.Close()
	if l.out.handle, err = netlink.NewHandleAt(inside, unixRoute); err != nil {
		return fmt.Errorf("netlink socket inside: %w", err)
	}
	if l.in.handle, err = netlink.NewHandle(unixRoute); err != nil {
		return fmt.Errorf("netlink socket on the host: %w", err)
	}
	if l.out.link, err = l.out.handle.LinkByName(device); err != nil {
		return fmt.Errorf("find %s inside: %w", device, err)
	}
	peer := l.out.link.Attrs().ParentIndex
	if l.in.link, err = l.in.handle.LinkByIndex(peer); err != nil {
		return fmt.Errorf("find the host's end (index %d): %w", peer, err)
	}
	if l.in.link.Type() != "veth" {
		return fmt.Errorf("the host's end %s is a %s, not a veth", l.in.link.Attrs().Name, l.in.link.Type())
	}
	return nil
}

// Node is the name of the node that the link belongs to.
func (l *Link) Node() string { return l.node }

// Close gives the netlink sockets back; the shaping stays.
func (l *Link) Close() {
	for _, e := range []end{l.in, l.out} {
		if e.handle != nil {
			e.handle.Close()
		}
	}
}

// Shape sets both directions and reads them back; a rate of zero takes the
// filter of that direction away. The counters start again from zero.
func (l *Link) Shape(rates Rates) error {
	return l.each(rates, func(e end, rate units.BitRate) error {
		if rate == 0 {
			return e.clear()
		}
		return e.shape(Params(rate))
	})
}

// Clear takes both filters away; what it finds unshaped it leaves so.
func (l *Link) Clear() error { return l.Shape(Rates{}) }

// Filters reports the two filters as the kernel has them; the zero Tbf stands for
// a direction that is not shaped.
func (l *Link) Filters() (in, out Tbf, err error) {
	if in, err = l.in.filter(); err != nil {
		return in, out, fmt.Errorf("read the link of %s, into it: %w", l.node, err)
	}
	if out, err = l.out.filter(); err != nil {
		return in, out, fmt.Errorf("read the link of %s, out of it: %w", l.node, err)
	}
	return in, out, nil
}

func (l *Link) each(rates Rates, do func(end, units.BitRate) error) error {
	var failures []error
	for _, direction := range []struct {
		name string
		end  end
		rate units.BitRate
	}{{"into it", l.in, rates.In}, {"out of it", l.out, rates.Out}} {
		if err := do(direction.end, direction.rate); err != nil {
			failures = append(failures, fmt.Errorf("shape the link of %s, %s, to %s: %w",
				l.node, direction.name, direction.rate, err))
		}
	}
	return errors.Join(failures...)
}
