package runtime

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"secondhop/edge/haproxy"
	"secondhop/edge/render"
)

func at(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 128, byte(n)}), 8080)
}

func TestDiffOrdersCommands(t *testing.T) {
	t.Parallel()
	servers := func() []render.Server {
		return []render.Server{
			{Name: "reg0", Address: at(1), Enabled: true}, // comes into a place that held another
			{Name: "reg1"}, // goes
			{Name: "reg2", Address: at(2), Enabled: true}, // stays
		}
	}
	backends := []render.Backend{{Name: "plain", Servers: servers()}, {Name: "pol", Track: "plain", Servers: servers()}}
	state := func(backend, server string, n int, forced bool) haproxy.ServerState {
		return haproxy.ServerState{Backend: backend, Server: server, Address: at(n), Maintenance: forced, ForcedMaintenance: forced}
	}
	actual := []haproxy.ServerState{
		state("plain", "reg0", 9, true), state("plain", "reg1", 8, false), state("plain", "reg2", 2, false),
		state("pol", "reg0", 9, true), state("pol", "reg1", 8, false), state("pol", "reg2", 2, false),
	}
	got, err := Diff(backends, actual)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"set server pol/reg0 addr 198.18.128.1 port 8080", "set server plain/reg0 addr 198.18.128.1 port 8080",
		"set server pol/reg0 state ready", "set server plain/reg0 state ready",
		"set server pol/reg1 state maint", "set server plain/reg1 state maint",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Diff(backends, actual[1:]); err == nil || !strings.Contains(err.Error(), "no server plain/reg0") {
		t.Errorf("a missing server: %v", err)
	}
}

// TestDiffLeavesNothingToDo applies the commands to a model of HAProxy, from any
// state to any wish, and then there is no difference; at no command in between is
// a server that is open before and after closed, or sent to another address.
func TestDiffLeavesNothingToDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []render.Backend {
			var owner, follower []render.Server
			for i := range 5 {
				s := render.Server{Name: fmt.Sprint("reg", i)}
				if n := rapid.IntRange(0, 5).Draw(t, label); n > 0 {
					s.Address, s.Enabled = at(10*i+n), true
				}
				owner = append(owner, s)
				s.Enabled = s.Enabled && rapid.Bool().Draw(t, label+" chosen")
				follower = append(follower, s)
			}
			return []render.Backend{{Name: "plain", Servers: owner}, {Name: "pol", Track: "plain", Servers: follower}}
		}
		before, after := draw("before"), draw("after")
		m := newModel(assume(before))
		commands, err := Diff(after, m.states())
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commands {
			m.do(t, command)
			m.check(t, command, before, after)
		}
		if left, err := Diff(after, m.states()); err != nil || len(left) > 0 {
			t.Fatalf("left to do: %v, %v", left, err)
		}
	})
}

type model struct {
	servers map[string]*haproxy.ServerState
}

func newModel(states []haproxy.ServerState) *model {
	m := &model{servers: map[string]*haproxy.ServerState{}}
	for _, s := range states {
		m.servers[s.Backend+"/"+s.Server] = &s
	}
	return m
}

// states is what HAProxy would show: a follower inherits maintenance.
func (m *model) states() []haproxy.ServerState {
	var all []haproxy.ServerState
	for _, s := range m.servers {
		shown := *s
		shown.Maintenance = s.ForcedMaintenance || m.servers["plain/"+s.Server].ForcedMaintenance
		all = append(all, shown)
	}
	return all
}

func (m *model) do(t *rapid.T, command string) {
	var id, verb, value string
	var port uint16
	if n, _ := fmt.Sscanf(command, "set server %s %s %s port %d", &id, &verb, &value, &port); n < 3 {
		t.Fatalf("command %q", command)
	}
	s := m.servers[id]
	switch verb {
	case "addr":
		s.Address = netip.AddrPortFrom(netip.MustParseAddr(value), port)
	case "state":
		s.ForcedMaintenance = value == "maint"
	}
}

func (m *model) check(t *rapid.T, command string, before, after []render.Backend) {
	for b := range before {
		for i, was := range before[b].Servers {
			will := after[b].Servers[i]
			if !was.Enabled || was != will {
				continue
			}
			now := m.servers[before[b].Name+"/"+was.Name]
			if now.ForcedMaintenance || now.Address != was.Address {
				t.Fatalf("%q touches %s, which stays", command, was.Name)
			}
		}
	}
}
