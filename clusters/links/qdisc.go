package links

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"secondhop/internal/units"
)

// unixRoute is the netlink family of links and queueing disciplines.
const unixRoute = unix.NETLINK_ROUTE

// shape makes want the root queueing discipline of e, and checks that the kernel
// took it as it was meant. An older filter is deleted first: replacing one of the
// same kind keeps its counters and the packets that it holds.
func (e end) shape(want Tbf) error {
	if err := ValidateRate(want.Rate); err != nil {
		return err
	}
	ticks, err := want.bufferTicks()
	if err != nil {
		return err
	}
	if err := e.clear(); err != nil {
		return err
	}
	qdisc := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: e.link.Attrs().Index,
			Handle:    netlink.MakeHandle(1, 0),
			Parent:    netlink.HANDLE_ROOT,
		},
		Rate:   uint64(want.Rate / 8),
		Limit:  uint32(want.Limit),
		Buffer: ticks,
	}
	if err := e.handle.QdiscReplace(qdisc); err != nil {
		return fmt.Errorf("set %s on %s: %w", want, e.link.Attrs().Name, err)
	}
	got, err := e.filter()
	if err != nil {
		return err
	}
	if !want.sameAs(got) {
		return fmt.Errorf("set %s on %s: the kernel has %s instead", want, e.link.Attrs().Name, got)
	}
	return nil
}

// clear gives the device back the queueing discipline that it had by default.
func (e end) clear() error {
	root, err := e.root()
	if err != nil || root == nil {
		return err
	}
	err = e.handle.QdiscDel(root)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("delete the filter of %s: %w", e.link.Attrs().Name, err)
	}
	return nil
}

// filter reads the token bucket filter at the root; zero when there is none.
func (e end) filter() (Tbf, error) {
	root, err := e.root()
	if err != nil || root == nil {
		return Tbf{}, err
	}
	rate := units.BitRate(root.Rate) * 8
	return Tbf{Rate: rate, Burst: burstOf(rate, root.Buffer), Limit: units.Bytes(root.Limit)}, nil
}

// root is the token bucket filter at the root of the device, or nil.
func (e end) root() (*netlink.Tbf, error) {
	qdiscs, err := e.handle.QdiscList(e.link)
	if err != nil {
		return nil, fmt.Errorf("list the queueing disciplines of %s: %w", e.link.Attrs().Name, err)
	}
	for _, qdisc := range qdiscs {
		if filter, ok := qdisc.(*netlink.Tbf); ok && filter.Parent == netlink.HANDLE_ROOT {
			return filter, nil
		}
	}
	return nil, nil
}
