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
	"secondhop/internal/trial"
)

// few pods are enough to see that something is broken, and are there sooner.
var few = []int{2, 2, 0, 1}

// TestControls breaks the system on purpose, once for each kind of check, and
// wants the check to turn red: a check that cannot fail is a defect.
func TestControls(t *testing.T) {
	const group = "negative controls"
	control := func(name string, assess func(ctx context.Context, t *testing.T)) features.Feature {
		return features.New(name).Assess(name, func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			assess(ctx, t)
			return ctx
		}).Feature()
	}
	environment.Test(t,
		control("an app that exits at SIGTERM, with redispatch off, drops requests", func(ctx context.Context, t *testing.T) {
			app := steady(ctx, t, deploy.AppSpec{Placement: few, Stop: deploy.StopExit, Grace: -1, RedispatchOff: true})
			outcome := run(ctx, t, app, trial.Spec{
				Name:   "control-drops",
				Load:   trial.Load{Rate: timingRate},
				Before: 5 * time.Second,
				Events: trial.InTurn(lab.RestartAll(app)),
				After:  5 * time.Second,
			})
			assert(t, group, lab.ControlDrops(outcome))
		}),
		control("an agent that never says ready keeps every slot shut", func(ctx context.Context, t *testing.T) {
			app := steady(ctx, t, deploy.AppSpec{Placement: few, Agent: deploy.AgentNeverReady})
			outcome := run(ctx, t, app, trial.Spec{
				Name: "control-never-ready",
				Load: trial.Load{Rate: countRate, Requests: 12_000},
			})
			assertions, err := lab.ControlNeverReady(outcome)
			require.NoError(t, err)
			assert(t, group, assertions...)
		}),
		control("an operator that frees a slot at the deletion timestamp is caught", func(ctx context.Context, t *testing.T) {
			require.NoError(t, lab.Reinstall(ctx, deploy.Options{UsherArgs: []string{"--fault=free-slot-at-deletion"}}))
			defer restore(ctx, t)
			app := steady(ctx, t, deploy.AppSpec{Placement: few})
			outcome := run(ctx, t, app, trial.Spec{
				Name:   "control-slot-rule",
				Load:   trial.Load{Rate: timingRate},
				Before: 5 * time.Second,
				Events: trial.InTurn(lab.RestartAll(app)),
				After:  5 * time.Second,
			})
			assert(t, group, lab.ControlSlotRule(outcome))
		}),
		control("server addresses that only the running HAProxy knows, and a reload, are caught", func(ctx context.Context, t *testing.T) {
			require.NoError(t, lab.Reinstall(ctx, deploy.Options{EdgeArgs: []string{"--addresses=runtime-only"}}))
			defer restore(ctx, t)
			app := steady(ctx, t, deploy.AppSpec{Placement: few})
			outcome := run(ctx, t, app, trial.Spec{
				Name:   "control-runtime-only",
				Load:   trial.Load{Rate: timingRate},
				Before: 5 * time.Second,
				Events: trial.InTurn(lab.Reload()),
				After:  15 * time.Second,
			})
			assertions, err := lab.ControlRuntimeOnly(ctx, app, outcome)
			require.NoError(t, err)
			assert(t, group, assertions...)
		}),
	)
}

// restore puts the lab's own parts back as they should be.
func restore(ctx context.Context, t *testing.T) {
	t.Helper()
	require.NoError(t, lab.Reinstall(ctx, deploy.Options{}))
}
