package policy

import "net/netip"

// Endpoints balances over every ready endpoint of the cluster.
func Endpoints(_ Node, app App) (Choice, error) {
	return Choice{Endpoints: ready(app)}, nil
}

func ready(app App) []netip.AddrPort {
	var chosen []netip.AddrPort
	for _, endpoint := range app.Endpoints {
		if endpoint.Ready {
			chosen = append(chosen, endpoint.Address)
		}
	}
	return chosen
}
