package policy

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func at(last byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 128, last}), 8080)
}

// pods are ready endpoints with the given hints, numbered from 1.
func pods(hints ...Endpoint) App {
	app := App{Namespace: "app", Service: "shop", Endpoints: hints}
	for i := range app.Endpoints {
		app.Endpoints[i].Address, app.Endpoints[i].Ready = at(byte(i+1)), true
	}
	return app
}

func numbers(choice Choice) []byte {
	var n []byte
	for _, a := range choice.Endpoints {
		n = append(n, a.Addr().As4()[3])
	}
	return n
}

func TestHints(t *testing.T) {
	t.Parallel()
	both := func(node, zone string) Endpoint { return Endpoint{ForNodes: []string{node}, ForZones: []string{zone}} }
	zone := func(zone string) Endpoint { return Endpoint{ForZones: []string{zone}} }
	notReady := func(app App, i int) App { app.Endpoints[i].Ready = false; return app }
	for name, test := range map[string]struct {
		app  App
		want []byte
	}{
		"none":                               {pods(Endpoint{}, Endpoint{}), []byte{1, 2}},
		"zones":                              {pods(zone("a"), zone("b"), zone("a")), []byte{1, 3}},
		"a zone that nobody names":           {pods(zone("b"), zone("c")), []byte{1, 2}},
		"one without: all":                   {pods(zone("a"), Endpoint{}, zone("b")), []byte{1, 2, 3}},
		"nodes":                              {pods(both("w1", "a"), both("w2", "a")), []byte{1}},
		"a node that nobody names: the zone": {pods(both("w2", "a"), both("w3", "b")), []byte{1}},
		"one without a node hint: the zone":  {pods(both("w1", "a"), zone("a"), zone("b")), []byte{1, 2}},
		"one that is not ready has no say":   {notReady(pods(zone("a"), Endpoint{}, zone("b")), 1), []byte{1}},
		"none is ready":                      {notReady(pods(zone("a")), 0), nil},
	} {
		choice, err := Hints(Node{Name: "w1", Zone: "a"}, test.app)
		if diff := cmp.Diff(test.want, numbers(choice)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	in := func(zones ...string) App {
		var endpoints []Endpoint
		for _, zone := range zones {
			endpoints = append(endpoints, Endpoint{Zone: zone})
		}
		return pods(endpoints...)
	}
	for name, test := range map[string]struct {
		zone string
		app  App
		want []byte
	}{
		"three":                 {"a", in("a", "b", "a", "a"), []byte{1, 3, 4}},
		"two are too few":       {"a", in("a", "b", "a", "b"), []byte{1, 2, 3, 4}},
		"none":                  {"c", in("a", "b", "a"), []byte{1, 2, 3}},
		"a node without a zone": {"", in("", "", "", "b"), []byte{1, 2, 3, 4}},
	} {
		choice, err := Zone(Node{Name: "w1", Zone: test.zone}, test.app)
		if diff := cmp.Diff(test.want, numbers(choice)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}
