//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"secondhop/internal/deploy"
	"secondhop/internal/runner"
	"secondhop/internal/trial"
	"secondhop/internal/units"
)

// answer is the size of the answers in all scenarios that count bytes.
const answer = 24 * units.Kibibyte

// TestBytes compares what crosses the links of the nodes with and without slots.
// Both are measured on one deployment: the edge serves the baseline on a second
// port of the same process.
func TestBytes(t *testing.T) {
	var app *deploy.App
	environment.Test(t, features.New("bytes per node").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			app = steady(ctx, t, deploy.AppSpec{Placement: uneven})
			return ctx
		}).
		Assess("the cut equals the formula", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			// Half of what saturates the links, so that nothing but the strategy decides.
			const link, rate, requests = 100 * units.Megabit, 500, 7_500
			pair := pairOf(ctx, t, app, "formula", link, trial.Load{Rate: rate, Requests: requests, Answer: answer})
			assert(t, "bytes: 24 KiB answers", lab.CutEqualsFormula(pair)...)
			require.NoError(t, lab.CutRows("bytes: 24 KiB answers, links at 100 Mb/s", pair))
			return ctx
		}).
		Assess("inbound is the bottleneck", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			const link, utilisation, hopTwoShare = 50 * units.Megabit, 0.76, 0.32
			load, err := lab.BottleneckLoad(app, answer, link, utilisation, hopTwoShare)
			require.NoError(t, err)
			load.Requests = uint64(load.Rate * 16)
			pair := pairOf(ctx, t, app, "bottleneck", link, load)
			assert(t, "bytes: links at three quarters, hop two a third of inbound", lab.FreeCapacityGrows(pair, link, utilisation)...)
			require.NoError(t, lab.CutRows("bytes: hop two a third of inbound, links at 76 % of 50 Mb/s", pair))
			return ctx
		}).
		Assess("what overloads the baseline is carried by slots", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			const link, rate, requests = 50 * units.Megabit, 560, 11_200
			pair := pairOf(ctx, t, app, "overload", link, trial.Load{Rate: rate, Requests: requests, Answer: answer})
			assert(t, "bytes: one rate, links at 50 Mb/s", lab.SlotsCarryWhatDropped(pair)...)
			require.NoError(t, lab.CutRows("bytes: 560 requests/s of 24 KiB, links at 50 Mb/s", pair))
			return ctx
		}).Feature())
}

// pairOf runs one load against the baseline and against slots on links of the
// given rate, which are put back afterwards.
func pairOf(ctx context.Context, t *testing.T, app *deploy.App, name string, link units.BitRate, load trial.Load) runner.Pair {
	t.Helper()
	require.NoError(t, lab.ShapeLinks(ctx, link))
	defer func() { require.NoError(t, lab.ShapeLinks(ctx, lab.Cluster.Spec.Link)) }()
	load.Port = trial.BaselinePort
	before := run(ctx, t, app, trial.Spec{Name: "bytes-" + name + "-endpoints", Load: load})
	require.NoError(t, lab.Steady(ctx, app))
	load.Port = trial.PolicyPort
	after := run(ctx, t, app, trial.Spec{Name: "bytes-" + name + "-slots", Load: load})
	return runner.Pair{Baseline: before, Slots: after}
}
