//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/stretchr/testify/require"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/runner"
	"secondhop/internal/trial"
)

// The rates of the suite on two cores that carry the lab and the client: counts
// can be had at up to 1,500 requests a second; times of requests only below 800.
const (
	countRate  = 1500
	timingRate = 300
)

// shareRequests gives each of four nodes 10,500 requests, from which a share that
// is off by 3 points is caught with a probability above 92 % on each node alone.
const shareRequests = 42_000

// strategies are the policies of the edge and how their shares are computed.
var strategies = []struct {
	policy   deploy.Policy
	strategy locality.Strategy
}{
	{deploy.PolicyEndpoints, locality.Endpoints},
	{deploy.PolicySlots, locality.Slots},
}

// TestLocalShare deploys every strategy anew on two placements and compares the
// shares of every node, and the load of every pod, with what must come out.
func TestLocalShare(t *testing.T) {
	for _, placement := range [][]int{{4, 4, 4, 1}, {2, 2, 0, 1}} {
		for _, s := range strategies {
			name := fmt.Sprintf("%s on %s", s.strategy, runner.PlacementName(placement))
			feature := features.New(name).
				Assess("shares, balance and drops", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
					app := steady(ctx, t, deploy.AppSpec{Placement: placement, Policy: s.policy})
					outcome := run(ctx, t, app, trial.Spec{
						Name: fmt.Sprintf("share-%s-%s", s.strategy, runner.PlacementName(placement)),
						Load: trial.Load{Rate: countRate, Requests: shareRequests},
					})
					assertions, err := lab.Shares(app, outcome, s.strategy)
					require.NoError(t, err)
					assert(t, name, assertions...)
					require.NoError(t, lab.Row("local share, steady state", outcome, s.strategy))
					return ctx
				}).Feature()
			environment.Test(t, feature)
		}
	}
}
