package policy

import (
	"net/netip"
	"slices"
)

// Hints follows the hints of the control plane as the NGINX ingress controller
// documents it: the endpoints hinted to this node if every ready endpoint has node
// hints, else those hinted to its zone if every one has zone hints, else all. One
// endpoint without a hint, or a node or zone that none names, and it is the next rule.
func Hints(node Node, app App) (Choice, error) {
	rules := []struct {
		own   string
		names func(Endpoint) []string
	}{
		{node.Name, func(e Endpoint) []string { return e.ForNodes }},
		{node.Zone, func(e Endpoint) []string { return e.ForZones }},
	}
	for _, rule := range rules {
		if chosen := hinted(app, rule.own, rule.names); len(chosen) > 0 {
			return Choice{Endpoints: chosen}, nil
		}
	}
	return Endpoints(node, app)
}

// hinted are the ready endpoints with a hint for own; none unless all have hints.
func hinted(app App, own string, names func(Endpoint) []string) []netip.AddrPort {
	var chosen []netip.AddrPort
	for _, endpoint := range app.Endpoints {
		if !endpoint.Ready {
			continue
		}
		hints := names(endpoint)
		if len(hints) == 0 {
			return nil
		}
		if own != "" && slices.Contains(hints, own) {
			chosen = append(chosen, endpoint.Address)
		}
	}
	return chosen
}
