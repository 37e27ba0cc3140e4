package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"secondhop/internal/failure"
)

// routeMetric makes the stop gap the last choice among routes of the same length.
const routeMetric = 1 << 30

// stopGap is the route that makes the host answer "unreachable" for lab addresses
// that no bridge has; those of a bridge are more specific and win.
func stopGap() *netlink.Route {
	return &netlink.Route{Dst: ipNet(Range()), Type: unix.RTN_UNREACHABLE, Priority: routeMetric, Table: unix.RT_TABLE_MAIN}
}

// InstallStopGap adds the unreachable route for all lab addresses to the host.
func InstallStopGap(_ context.Context) error {
	if err := netlink.RouteAdd(stopGap()); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add the unreachable route for %s: %w", Range(), err)
	}
	return nil
}

// RemoveStopGap takes that route away again.
func RemoveStopGap(_ context.Context) error {
	if err := netlink.RouteDel(stopGap()); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("delete the unreachable route for %s: %w", Range(), err)
	}
	return nil
}

// CheckAddressesFree is nil when the host has no route of its own to lab addresses,
// as some VPN clients make them; bridges of Docker are Docker's to refuse.
func CheckAddressesFree(_ context.Context) error {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list the host's routes: %w", err)
	}
	for _, route := range routes {
		prefix, ok := prefixOf(route.Dst)
		if !ok || prefix.Bits() == 0 || !prefix.Overlaps(Range()) || route.Type == unix.RTN_UNREACHABLE {
			continue
		}
		link, err := netlink.LinkByIndex(route.LinkIndex)
		if err != nil || link.Type() == "bridge" {
			continue
		}
		return failure.Infra(fmt.Errorf("this machine has a route to lab addresses already: %s by %s", prefix, link.Attrs().Name),
			"take that device down while the lab runs: ip link set "+link.Attrs().Name+" down")
	}
	return nil
}

func prefixOf(network *net.IPNet) (netip.Prefix, bool) {
	if network == nil {
		return netip.Prefix{}, false
	}
	address, ok := netip.AddrFromSlice(network.IP.To4())
	ones, _ := network.Mask.Size()
	return netip.PrefixFrom(address, ones), ok
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
