package runner

import (
	"context"
	"errors"
	"time"

	"secondhop/clusters"
	"secondhop/internal/measure"
)

// proveHermetic tries, before there is any load, to get out of the lab from every
// node and from a container that stands where the client does. The lab is not used
// unless every attempt is refused at once.
func (l *Lab) proveHermetic(ctx context.Context) (err error) {
	started := time.Now()
	client, err := l.Cluster.StartClient(ctx, "client", clusters.ClientOptions{
		Image: l.loadgen, Args: []string{"sink", "--listen", "127.0.0.1:0"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Remove(context.WithoutCancel(ctx))) }()
	attempts, err := l.Cluster.ProveHermetic(ctx, client.Name)
	if err != nil {
		return err
	}
	refused := 0
	for _, attempt := range attempts {
		if attempt.Err != nil {
			refused++
		}
	}
	return errors.Join(
		l.Results.Assert("hermetic network", measure.Equal("refused", "attempts to get out", "count", float64(refused), float64(len(attempts)))),
		l.Results.Phase("proved that nothing gets out", started))
}
