package runtime

import (
	"fmt"

	"secondhop/edge/haproxy"
	"secondhop/edge/render"
)

// name is a server as commands say it.
type name struct{ backend, server string }

func (n name) String() string { return n.backend + "/" + n.server }

// Diff returns the commands that make actual what backends want, in an order that
// leaves no instant without the servers of either: addresses first, then servers
// that open (a tracked one after those that follow it), then those that close. It
// fails when actual lacks a server, which only a reload can add.
func Diff(backends []render.Backend, actual []haproxy.ServerState) ([]string, error) {
	state := make(map[name]haproxy.ServerState, len(actual))
	for _, s := range actual {
		state[name{s.Backend, s.Server}] = s
	}
	var d diff
	for _, tracked := range []bool{false, true} {
		for _, backend := range backends {
			if (backend.Track == "") != tracked {
				continue
			}
			if err := d.backend(backend, state); err != nil {
				return nil, err
			}
		}
	}
	return append(append(d.move, d.open...), d.close...), nil
}

type diff struct{ move, open, close []string }

func (d *diff) backend(b render.Backend, state map[name]haproxy.ServerState) error {
	for _, server := range b.Servers {
		id := name{b.Name, server.Name}
		now, ok := state[id]
		if !ok {
			return fmt.Errorf("haproxy has no server %s", id)
		}
		d.server(id, server, now)
	}
	return nil
}

func (d *diff) server(id name, want render.Server, now haproxy.ServerState) {
	if want.Address.IsValid() && want.Address != now.Address {
		d.move = append(d.move, fmt.Sprintf("set server %s addr %s port %d", id, want.Address.Addr(), want.Address.Port()))
	}
	switch {
	case want.Enabled && now.ForcedMaintenance:
		d.open = append(d.open, fmt.Sprintf("set server %s state ready", id))
	case !want.Enabled && !now.Maintenance:
		d.close = append(d.close, fmt.Sprintf("set server %s state maint", id))
	}
}
