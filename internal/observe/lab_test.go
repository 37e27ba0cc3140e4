package observe_test

import (
	"context"
	"os"
	"testing"
	"time"

	"secondhop/clusters"
	"secondhop/clusters/images"
	"secondhop/fixtures/manifests"
	"secondhop/internal/deploy"
	"secondhop/internal/faults"
	"secondhop/internal/observe"
)

// labVariable names a running lab that tests may deploy into.
const labVariable = "SECONDHOP_TEST_LAB"

// runningLab attaches to the lab and installs the parts under test.
func runningLab(t *testing.T) *deploy.Lab {
	t.Helper()
	name := os.Getenv(labVariable)
	if name == "" {
		t.Skip("needs a lab that is up; name it in " + labVariable)
	}
	ctx := limit(t, 8*time.Minute)
	cluster, err := clusters.Running(ctx, name)
	must(t, err)
	var lab *deploy.Lab
	timed(t, "images", func() error {
		archive, own, err := images.Own(ctx, images.Options{Progress: os.Stderr})
		if err != nil {
			return err
		}
		if err := cluster.LoadImages(ctx, archive); err != nil {
			return err
		}
		lab, err = deploy.New(cluster, deploy.Images{Usher: own.Usher, Edge: own.Edge, Demoapp: own.Demoapp})
		return err
	})
	timed(t, "install", func() error { return lab.Install(ctx, deploy.Options{Progress: os.Stderr}) })
	return lab
}

func timed(t *testing.T, what string, do func() error) {
	t.Helper()
	start := time.Now()
	err := do()
	t.Logf("%-28s %6.2fs", what, time.Since(start).Seconds())
	must(t, err)
}

func limit(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLab(t *testing.T) {
	lab := runningLab(t)
	ctx := limit(t, 8*time.Minute)
	var app *deploy.App
	for _, policy := range []deploy.Policy{deploy.PolicyEndpoints, deploy.PolicySlots} {
		timed(t, "deploy "+string(policy), func() (err error) {
			app, err = lab.DeployApp(ctx, deploy.AppSpec{Placement: []int{4, 4, 4, 1}, Policy: policy})
			return err
		})
		timed(t, "steady "+string(policy), func() error { return lab.WaitSteady(ctx, app) })
	}
	timed(t, "steady again", func() error { return lab.WaitSteady(ctx, app) })
	timed(t, "statistics of 4 edges", func() error { _, err := lab.Edges.Stats(ctx); return err })
	facts, err := observe.ReadFacts(ctx, lab.Cluster, lab.Cluster.WorkerNames())
	t.Logf("facts %+v, %v", facts, err)

	for _, event := range []faults.Event{
		faults.RestartOneByOne(lab.Client, "app", app.Workloads[0]),
		faults.RestartAll(lab.Client, "app", app.Workloads...),
		faults.RestartUsher(lab.Client, manifests.LabNamespace),
		faults.Reload(lab.Edges),
		faults.RolloutEdge(lab.Client, manifests.LabNamespace),
	} {
		happen(ctx, t, lab, app, event)
	}
}

func happen(ctx context.Context, t *testing.T, lab *deploy.Lab, app *deploy.App, event faults.Event) {
	t.Logf("--- %s", event.Name())
	var watch *observe.Observation
	timed(t, "begin to observe", func() (err error) {
		watch, err = observe.Begin(ctx, lab, app, observe.Options{SinkPort: 9200})
		return err
	})
	defer func() { must(t, watch.Stop(context.WithoutCancel(ctx))) }()
	timed(t, "apply", func() error { return event.Apply(ctx) })
	timed(t, "confirm", func() error {
		outcome, err := event.Confirm(ctx)
		t.Logf("%+v", outcome)
		return err
	})
	timed(t, "undo", func() error { return event.Undo(ctx) })
	timed(t, "steady after", func() error { return lab.WaitSteady(ctx, app) })
	var result *observe.Result
	timed(t, "end of observation", func() (err error) { result, err = watch.End(ctx); return err })
	t.Logf("slots %+v violations %v", result.Slots.Coverage, result.Slots.Violations)
	t.Logf("pods %+v violations %v, label latencies %v", result.Pods.Coverage, result.Pods.Violations, result.Pods.LabelLatencies())
	t.Logf("states: samples %v, %d changes", result.States.Samples, len(result.States.Changes))
	t.Logf("host %+v", result.Host)
	for _, node := range lab.Cluster.WorkerNames() {
		t.Logf("%s: restarted %t, link %+v, split %+v, unaccounted %.4f, gap %.3f", node, result.HAProxy[node].Restarted,
			result.Links[node], result.Split[node], result.Split[node].Unaccounted(), result.SegmentGap(node))
	}
}
