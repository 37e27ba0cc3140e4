package policy

import "net/netip"

// zoneMinimum is how many ready endpoints a zone needs to be kept to: skipper's
// rule, so that a lone pod is not given all of its zone's requests.
const zoneMinimum = 3

// Zone keeps to the ready endpoints of this node's zone if there are enough of
// them, else it balances over all. An ingress that does not know its zone does so, too.
func Zone(node Node, app App) (Choice, error) {
	var chosen []netip.AddrPort
	for _, endpoint := range app.Endpoints {
		if endpoint.Ready && node.Zone != "" && endpoint.Zone == node.Zone {
			chosen = append(chosen, endpoint.Address)
		}
	}
	if len(chosen) < zoneMinimum {
		return Endpoints(node, app)
	}
	return Choice{Endpoints: chosen}, nil
}
