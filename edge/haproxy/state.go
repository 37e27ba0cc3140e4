package haproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// ServerState is one server of `show servers state`, the same text that a new
// worker loads from the server-state file.
type ServerState struct {
	Backend, Server string
	// Address is zero when the server has none (a name that did not resolve).
	Address netip.AddrPort
	// Up is the operational state: the server would take requests.
	Up bool
	// Maintenance is true for any cause: set on the server itself, in its
	// configuration, or inherited from a tracked server.
	Maintenance bool
	// ForcedMaintenance is set on the server itself and ends with state ready.
	ForcedMaintenance bool
	Weight            int // last set weight, of at most 256
}

// Bits of srv_admin_state, from HAProxy's management guide.
const (
	adminForcedMaintenance    = 0x01
	adminInheritedMaintenance = 0x02
	adminResolution           = 0x20
	adminHostname             = 0x40
	adminMaintenance          = adminForcedMaintenance | adminInheritedMaintenance | adminResolution | adminHostname
)

// ParseServersState reads version 1 of `show servers state`: a line with the
// version, one that names the columns, then a line per server.
func ParseServersState(r io.Reader) ([]ServerState, error) {
	lines := bufio.NewScanner(r)
	version, err := stateLine(lines)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(version) != "1" {
		return nil, fmt.Errorf("parse servers state: version is %q, want 1", version)
	}
	header, err := stateLine(lines)
	if err != nil {
		return nil, err
	}
	column, err := stateColumns(header)
	if err != nil {
		return nil, err
	}
	var servers []ServerState
	for number := 3; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		server, err := parseState(fields, column)
		if err != nil {
			return nil, fmt.Errorf("parse servers state: line %d: %w", number, err)
		}
		servers = append(servers, server)
	}
	return servers, lines.Err()
}

func stateLine(lines *bufio.Scanner) (string, error) {
	if lines.Scan() {
		return lines.Text(), nil
	}
	return "", fmt.Errorf("parse servers state: %w", errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}

func stateColumns(header string) (map[string]int, error) {
	column := map[string]int{}
	for i, name := range strings.Fields(strings.TrimPrefix(header, "#")) {
		column[name] = i
	}
	for _, name := range []string{"be_name", "srv_name", "srv_addr", "srv_op_state", "srv_admin_state", "srv_uweight", "srv_port"} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("parse servers state: header has no column %s", name)
		}
	}
	return column, nil
}

func parseState(fields []string, column map[string]int) (ServerState, error) {
	if len(fields) < len(column) {
		return ServerState{}, fmt.Errorf("%d fields, want %d", len(fields), len(column))
	}
	field := func(name string) string { return fields[column[name]] }
	number := func(name string, bits int) (int, error) {
		n, err := strconv.ParseUint(field(name), 10, bits)
		if err != nil {
			return 0, fmt.Errorf("%s is %q, want a number of %d bits", name, field(name), bits)
		}
		return int(n), nil
	}
	operational, opErr := number("srv_op_state", 8)
	admin, adminErr := number("srv_admin_state", 16)
	weight, weightErr := number("srv_uweight", 16)
	port, portErr := number("srv_port", 16)
	if err := errors.Join(opErr, adminErr, weightErr, portErr); err != nil {
		return ServerState{}, err
	}
	server := ServerState{
		Backend: field("be_name"), Server: field("srv_name"),
		Up:                operational >= 2, // 0 stopped, 1 starting, 2 running, 3 stopping (drains)
		Maintenance:       admin&adminMaintenance != 0,
		ForcedMaintenance: admin&adminForcedMaintenance != 0,
		Weight:            weight,
	}
	if addr, err := netip.ParseAddr(field("srv_addr")); err == nil {
		server.Address = netip.AddrPortFrom(addr, uint16(port))
	}
	return server, nil
}
