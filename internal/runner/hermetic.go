package runner

import (
	"context"
	"errors"

	"secondhop/clusters"
	"secondhop/clusters/network"
)

// Hermetic tries to get out of the lab from every node and from a container that
// stands where the client does. Every attempt must fail at once.
func (l *Lab) Hermetic(ctx context.Context) (_ []network.Attempt, err error) {
	client, err := l.Cluster.StartClient(ctx, "client", clusters.ClientOptions{
		Image: l.loadgen, Args: []string{"sink", "--listen", "127.0.0.1:0"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Remove(context.WithoutCancel(ctx))) }()
	return l.Cluster.ProveHermetic(ctx, client.Name)
}
