//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/trial"
)

// TestSmoke is the shortest run that proves something: shares in steady state and
// one reload under load. `make smoke` runs it alone; the whole suite leaves it out,
// since its other tests contain it.
func TestSmoke(t *testing.T) {
	if !onlySmoke() {
		t.Skip("the other tests contain it; make smoke runs it alone")
	}
	var app *deploy.App
	environment.Test(t, features.New("smoke").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			app = steady(ctx, t, deploy.AppSpec{Placement: uneven})
			return ctx
		}).
		Assess("shares, balance and drops", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			outcome := run(ctx, t, app, trial.Spec{
				Name: "smoke-share", Load: trial.Load{Rate: countRate, Requests: shareRequests},
			})
			assertions, err := lab.Shares(app, outcome, locality.Slots)
			require.NoError(t, err)
			assert(t, "smoke: shares", assertions...)
			require.NoError(t, lab.Row("smoke", outcome, locality.Slots))
			return ctx
		}).
		Assess("a reload drops nothing", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			outcome := run(ctx, t, app, trial.Spec{
				Name: "smoke-reload", Load: trial.Load{Rate: timingRate},
				Before: 5 * time.Second, Events: trial.InTurn(lab.Reload()), After: 45 * time.Second,
			})
			assertions, err := lab.Reloaded(ctx, app, outcome)
			require.NoError(t, err)
			assert(t, "smoke: a reload", assertions...)
			return ctx
		}).Feature())
}
