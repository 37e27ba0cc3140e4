package clusters

import (
	"context"

	"secondhop/clusters/netns"
	"secondhop/clusters/network"
)

// ProveHermetic dials a stand-in for the outside from every node and from the given
// containers beside them. It returns what happened, and an error unless each
// attempt was refused at once and the guard's packet counter shows it.
func (c *Cluster) ProveHermetic(ctx context.Context, beside ...string) ([]network.Attempt, error) {
	var insiders []network.Insider
	containers := beside
	for _, node := range c.Nodes {
		containers = append(containers, node.Name)
	}
	for _, container := range containers {
		path, err := netns.Path(ctx, container)
		if err != nil {
			return nil, err
		}
		insiders = append(insiders, network.Insider{Name: container, NetNS: path})
	}
	return network.Lab(c.Spec.Name).Prove(ctx, insiders...)
}
