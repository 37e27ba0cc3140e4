// Package address decides where load may go. Every socket that loadgen opens
// towards a server is opened by Dial, which takes an Address, and an Address can
// only be made by Parse: no plan, flag or bug can aim load at anything else.
package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Address is a place that load may be sent to: a port of a literal IP address
// inside the benchmarking range of RFC 2544 (198.18.0.0/15) or of this machine's
// loopback. Its zero value is nowhere, and Dial refuses it.
type Address struct {
	addr netip.AddrPort
}

// Parse accepts "198.18.0.3:80", "127.0.0.1:8080" and "[::1]:8080". Names are
// refused since what they resolve to can change between the check and the dial;
// IPv6 other than ::1 is refused, so that no mapped, scoped or translated form of
// a foreign IPv4 address gets through.
func Parse(text string) (Address, error) {
	addr, err := netip.ParseAddrPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("address %q: not a literal IP address and port such as 198.18.0.3:80", text)
	}
	if addr.Port() == 0 {
		return Address{}, fmt.Errorf("address %q: port 0 is no port", text)
	}
	if !allowed(addr.Addr()) {
		return Address{}, fmt.Errorf("address %q: load may go to 198.18.0.0/15 and loopback only", text)
	}
	return Address{addr: addr}, nil
}

// allowed is the whole guard. An IPv4-mapped IPv6 address is never Is4, and ::1
// with a zone differs from the plain ::1.
func allowed(ip netip.Addr) bool {
	if ip.Is4() {
		lab := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, 0}), 15)
		return lab.Contains(ip) || ip.IsLoopback()
	}
	return ip == netip.IPv6Loopback()
}

// String is the address as Parse reads it, or "nowhere" for the zero value.
func (a Address) String() string {
	if !a.addr.IsValid() {
		return "nowhere"
	}
	return a.addr.String()
}

// Dial opens a TCP connection to the address. ctx bounds the opening only.
func Dial(ctx context.Context, to Address) (*net.TCPConn, error) {
	if !to.addr.IsValid() || !allowed(to.addr.Addr()) {
		return nil, errors.New("dial: the address was not made by address.Parse")
	}
	// Dialer.DialTCP would bind the socket first, even to no address, and the kernel
	// then searches for a port that is free towards everybody: 20 ms each once some
	// thousand connections have been closed.
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: false}, KeepAlive: -1}
	conn, err := dialer.DialContext(ctx, "tcp", to.addr.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}
