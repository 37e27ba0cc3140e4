//go:build e2e

package e2e

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"secondhop/internal/deploy"
	"secondhop/internal/measure"
	"secondhop/internal/runner"
	"secondhop/internal/trial"
)

// steady deploys an application and waits until every slot and server is as it
// will stay.
func steady(ctx context.Context, t *testing.T, spec deploy.AppSpec) *deploy.App {
	t.Helper()
	app, err := lab.Deploy(ctx, spec)
	require.NoError(t, err, "deploy the application")
	return app
}

// run carries out a scenario; one that could not take place ends the test.
func run(ctx context.Context, t *testing.T, app *deploy.App, scenario trial.Spec) *runner.Outcome {
	t.Helper()
	outcome, err := lab.Run(ctx, app, scenario)
	require.NoError(t, err, "run %s", scenario.Name)
	return outcome
}

// slug is a name as part of a file name.
func slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// assert puts expectations into the result and the test's verdict. One that could
// not be decided is no success: the run proves nothing about it.
func assert(t *testing.T, group string, assertions ...measure.Assertion) {
	t.Helper()
	require.NoError(t, lab.Results.Assert(group, assertions...), "write the results")
	require.NoError(t, measure.PrintExpectations(os.Stdout, group, assertions))
	for _, a := range assertions {
		if a.Verdict != measure.Pass {
			t.Errorf("%s: %s", a.Verdict, a)
		}
	}
}

// onlySmoke says that -run asks for the smoke test by its name.
func onlySmoke() bool {
	asked := flag.Lookup("test.run")
	return asked != nil && strings.Contains(asked.Value.String(), "TestSmoke")
}
