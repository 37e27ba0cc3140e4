//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"secondhop/internal/measure"
)

// TestHermetic proves, before there is any load, that nothing gets out of the lab:
// not from a node and not from where the client runs.
func TestHermetic(t *testing.T) {
	environment.Test(t, features.New("hermetic network").
		Assess("every attempt to get out is refused at once", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			attempts, err := lab.Hermetic(ctx)
			require.NoError(t, err)
			refused := 0
			for _, attempt := range attempts {
				t.Logf("%s: %v after %s", attempt.From, attempt.Err, attempt.Took)
				if attempt.Err != nil {
					refused++
				}
			}
			assert(t, "hermetic network", measure.Equal("refused", "attempts to get out, from each node and the client", "count",
				float64(refused), float64(len(lab.Cluster.Nodes)+1)))
			return ctx
		}).Feature())
}
