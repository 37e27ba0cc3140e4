package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"secondhop/clusters"
	"secondhop/internal/cleanup"
	"secondhop/internal/deploy"
	"secondhop/internal/observe"
	"secondhop/internal/trial"
	"secondhop/internal/wait"
	"secondhop/loadgen"
)

// Deploy puts the given application into the lab, in place of the last one, and
// waits until it is steady: every slot and every server as it will stay. The
// application of the last call stays if it is the same and the parts around it are.
func (l *Lab) Deploy(ctx context.Context, spec deploy.AppSpec) (*deploy.App, error) {
	started := time.Now()
	if l.deployed == nil || !reflect.DeepEqual(l.asked, spec) {
		l.deployed = nil
		app, err := l.Parts.DeployApp(ctx, spec)
		if err != nil {
			return nil, err
		}
		l.deployed, l.asked = app, spec
	}
	if err := l.Steady(ctx, l.deployed); err != nil {
		return nil, err
	}
	app := l.deployed
	l.say("%s on %s is steady after %s", app.Spec.Policy, PlacementName(spec.Placement), time.Since(started).Round(time.Second))
	return app, nil
}

// steadyLimit is how long an application may take to become steady. The slowest
// part is pods that take their time to end.
const steadyLimit = 3 * time.Minute

// Steady waits until the application is as it will stay.
func (l *Lab) Steady(ctx context.Context, app *deploy.App) error {
	ctx, cancel := context.WithTimeout(ctx, steadyLimit)
	defer cancel()
	return l.Parts.WaitSteady(ctx, app)
}

// Run sends the trial's load to the application while its events happen, and
// returns everything that was seen. The load has ended and nothing is left of the
// run but the results when it returns.
func (l *Lab) Run(ctx context.Context, app *deploy.App, spec trial.Spec) (_ *Outcome, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	l.say("running %s", spec.Name)
	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Run(ctx, cleanupLimit)) }()
	outcome, err := l.newOutcome(app, spec)
	if err != nil {
		return nil, err
	}
	watch, err := observe.Begin(ctx, l.Parts, app, observe.Options{SinkPort: sinkPort})
	if err != nil {
		return nil, err
	}
	undo.Push("observers", watch.Stop)
	// Counters are read while nothing flows: they cannot all be read at one instant.
	var background cleanup.Stack
	undo.Push("background", func(ctx context.Context) error { return background.Run(ctx, cleanupLimit) })
	if err := l.startBackground(ctx, spec.Load, &background); err != nil {
		return nil, err
	}
	client, err := l.startLoad(ctx, app, outcome, &undo)
	if err != nil {
		return nil, err
	}
	happened, err := drive(ctx, spec, client)
	if err != nil {
		return nil, err
	}
	if err := background.Run(ctx, cleanupLimit); err != nil {
		return nil, err
	}
	if outcome.Observed, err = watch.End(ctx); err != nil {
		return nil, err
	}
	return outcome, outcome.read(happened)
}

// newOutcome prepares the folder of a run's results.
func (l *Lab) newOutcome(app *deploy.App, spec trial.Spec) (*Outcome, error) {
	dir := filepath.Join(l.Dir, spec.Name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("results of %s: %w", spec.Name, err)
	}
	outcome := &Outcome{&trial.Outcome{Spec: spec, App: app, Dir: dir, Nodes: l.Cluster.WorkerNames()}}
	for _, node := range l.Cluster.Workers() {
		outcome.Placement.Pods = append(outcome.Placement.Pods, app.PodsPerNode[node.Name])
		outcome.Placement.Zones = append(outcome.Placement.Zones, node.Zone)
	}
	return outcome, l.Results.Artifact(spec.Name, "every request of "+spec.Name+" and what was observed meanwhile")
}

// startLoad starts the client and waits until its first requests are answered.
func (l *Lab) startLoad(ctx context.Context, app *deploy.App, o *Outcome, undo *cleanup.Stack) (*clusters.Client, error) {
	plan, err := planOf(o.Spec.Load, l.Cluster.Workers(), app).JSON()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "plan.json"), plan, 0o644); err != nil {
		return nil, fmt.Errorf("write the plan of the load: %w", err)
	}
	client, err := l.Cluster.StartClient(ctx, "client", clusters.ClientOptions{
		Image: l.loadgen, ResultDir: o.Dir,
		Args: []string{"run", "--plan", clusters.ResultMount + "/plan.json", "--out", clusters.ResultMount},
	})
	if err != nil {
		return nil, err
	}
	undo.Push("client", client.Remove)
	beginning, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return client, wait.Until(beginning, "the first answers", 50*time.Millisecond, func(ctx context.Context) error {
		info, err := os.Stat(filepath.Join(o.Dir, loadgen.RecordsFile))
		if err == nil && info.Size() == 0 {
			err = errors.New("none yet")
		}
		return err
	})
}

// read takes in what the client and the observers have left.
func (o *Outcome) read(happened []happened) error {
	if err := o.readClient(); err != nil {
		return err
	}
	for _, h := range happened {
		o.Events = append(o.Events, h.on(o.Clock()))
	}
	text, err := json.MarshalIndent(o.Observed, "", "  ")
	if err != nil {
		return fmt.Errorf("write what was observed: %w", err)
	}
	return os.WriteFile(filepath.Join(o.Dir, "observed.json"), text, 0o644)
}

// readClient takes in what the client has left.
func (o *Outcome) readClient() (err error) {
	if o.Summary, err = loadgen.ReadSummary(filepath.Join(o.Dir, loadgen.SummaryFile)); err != nil {
		return err
	}
	o.Requests, err = trial.OpenRequests(filepath.Join(o.Dir, loadgen.RecordsFile))
	return err
}

func lastLine(text string) string {
	lines := bytes.Split(bytes.TrimSpace([]byte(text)), []byte("\n"))
	return string(lines[len(lines)-1])
}
