package network

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
)

// connectOutside joins the namespace at path to the host by a veth pair, with a
// default route back, so that without the guard a connection would succeed.
func connectOutside(path string) error {
	inside, err := vnetns.GetFromPath(path)
	if err != nil {
		return err
	}
	defer inside.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = outsideDevice
	veth := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(inside))}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add veth %s: %w", outsideDevice, err)
	}
	host, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	defer host.Close()
	if err := bringUp(host, outsideDevice, "203.0.113.1/30"); err != nil {
		return err
	}
	within, err := netlink.NewHandleAt(inside)
	if err != nil {
		return err
	}
	defer within.Close()
	if err := bringUp(within, "eth0", "203.0.113.2/30"); err != nil {
		return err
	}
	return within.RouteAdd(&netlink.Route{Gw: net.IPv4(203, 0, 113, 1)})
}

func bringUp(handle *netlink.Handle, device, address string) error {
	link, err := handle.LinkByName(device)
	if err != nil {
		return fmt.Errorf("find %s: %w", device, err)
	}
	parsed, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	if err := handle.AddrAdd(link, parsed); err != nil {
		return fmt.Errorf("add %s to %s: %w", address, device, err)
	}
	return handle.LinkSetUp(link)
}

// removeOutside deletes the namespace and the veth, whichever of them exist.
func removeOutside() error {
	var failures []error
	if link, err := netlink.LinkByName(outsideDevice); err == nil {
		failures = append(failures, netlink.LinkDel(link))
	}
	if _, err := os.Stat("/run/netns/" + outsideName); err == nil {
		failures = append(failures, vnetns.DeleteNamed(outsideName))
	}
	return errors.Join(failures...)
}
