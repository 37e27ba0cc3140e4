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
	"secondhop/internal/faults"
	"secondhop/internal/runner"
	"secondhop/internal/trial"
)

// uneven is the placement that the design is about: three nodes with four pods,
// one with a single pod.
var uneven = []int{4, 4, 4, 1}

// recoveryBound is how soon after the last pod the local share must be back.
const recoveryBound = 15 * time.Second

// onePodP99 bounds response times while one pod at a time moves. With several at
// once the tail is that of two cores starting containers, so it is only printed.
const onePodP99 = time.Second

// TestRollingUpdates restarts everything that can be restarted, under load.
func TestRollingUpdates(t *testing.T) {
	var app *deploy.App
	features := features.New("rolling updates").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			app = steady(ctx, t, deploy.AppSpec{Placement: uneven, MaxUnavailable: 1})
			return ctx
		})
	for _, update := range []struct {
		name   string
		event  func() faults.Event
		probe  *trial.Probe  // nil unless the edge balancer has to notice
		bound  time.Duration // of the p99 during the update; 0 for none
		settle time.Duration // load after the last pod
	}{
		{name: "all pods at once", event: func() faults.Event { return lab.RestartAll(app) }, settle: 16 * time.Second},
		{name: "one pod at a time", event: func() faults.Event { return lab.RestartOneByOne(app) }, bound: onePodP99, settle: 16 * time.Second},
		{name: "usher", event: func() faults.Event { return lab.RestartUsher() }, settle: 16 * time.Second},
		{name: "edge DaemonSet", event: func() faults.Event { return lab.RolloutEdge() }, probe: trial.DefaultProbe(), settle: 16 * time.Second},
	} {
		features.Assess(update.name, func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			require.NoError(t, lab.Steady(ctx, app))
			outcome := run(ctx, t, app, trial.Spec{
				Name:   "rollout-" + slug(update.name),
				Load:   trial.Load{Rate: timingRate, Probe: update.probe},
				Before: 6 * time.Second,
				Events: trial.InTurn(update.event()),
				After:  update.settle,
			})
			assertions, err := lab.Update(outcome, runner.UpdateBounds{Recovery: recoveryBound, P99: update.bound})
			require.NoError(t, err)
			assert(t, "rolling update: "+update.name, assertions...)
			require.NoError(t, lab.UpdateRows("rolling update: "+update.name, outcome))
			return ctx
		})
	}
	environment.Test(t, features.Feature())
}

// TestReloads reloads every HAProxy under load: nothing may fail, move or be lost.
func TestReloads(t *testing.T) {
	const name = "HAProxy reloads"
	environment.Test(t, features.New(name).
		Assess("0 failed, shares unchanged, regular servers still there", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			app := steady(ctx, t, deploy.AppSpec{Placement: uneven, MaxUnavailable: 1})
			outcome := run(ctx, t, app, trial.Spec{
				Name:   "reload",
				Load:   trial.Load{Rate: timingRate},
				Before: 5 * time.Second,
				Events: trial.InTurn(lab.Reload(), lab.Reload(), lab.Reload()),
				After:  36 * time.Second,
			})
			assertions, err := lab.Reloaded(ctx, app, outcome)
			require.NoError(t, err)
			assert(t, name, assertions...)
			require.NoError(t, lab.UpdateRows(name, outcome))
			return ctx
		}).Feature())
}
