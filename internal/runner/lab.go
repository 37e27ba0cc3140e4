// Package runner carries out a run: it makes the lab, puts the parts under test
// into it, sends load while events happen, and turns what was observed into
// expectations that hold or do not. Read Open, Deploy and Run, in this order.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"secondhop/clusters"
	"secondhop/clusters/links"
	"secondhop/internal/cleanup"
	"secondhop/internal/deploy"
	"secondhop/internal/measure"
	"secondhop/internal/report"
	"secondhop/internal/units"
)

// Options describe a run.
type Options struct {
	Spec clusters.Spec
	// Artifacts is the directory of result.json and all that belongs to it.
	Artifacts string
	// SharesOnly says that nothing will be asserted about bytes: links are then not
	// calibrated.
	SharesOnly bool
	// Keep leaves the lab up at the end; a lab that was up before stays anyway.
	Keep     bool
	Progress io.Writer
}

// Lab is a lab under test and the results of what was done on it.
type Lab struct {
	Cluster *clusters.Cluster
	Parts   *deploy.Lab
	Results *report.Collector
	Family  measure.Family
	Dir     string // of the artifacts, absolute

	whole    *clusters.Cluster // while Cluster is only a part of it
	asked    deploy.AppSpec    // of the application that is deployed
	deployed *deploy.App       // nil if there is none, or not just as asked for
	loadgen  string            // image in the local engine
	cleanup  cleanup.Stack
	progress io.Writer
}

// cleanupLimit is what each step of the clean-up may take.
const cleanupLimit = 2 * time.Minute

// Open makes the lab of the options, or takes the one that is up, and installs the
// parts under test. What goes wrong is in the results as well. Close ends it.
func Open(ctx context.Context, options Options) (*Lab, error) {
	lab := &Lab{Family: measure.DefaultFamily(), progress: options.Progress}
	if lab.progress == nil {
		lab.progress = io.Discard
	}
	if err := errors.Join(lab.openResults(options.Artifacts), lab.quieten()); err != nil {
		return lab, err
	}
	err := lab.provision(ctx, options)
	if err == nil {
		err = lab.proveHermetic(ctx)
	}
	if err == nil && !options.SharesOnly {
		err = lab.calibrate(ctx)
	}
	if err == nil {
		err = lab.describe(ctx)
	}
	if err != nil {
		err = lab.problem("provisioning", err)
	}
	return lab, err
}

// Close takes down what Open made, finishes the results and writes them for
// people. Its error is the verdict of the run: nil only if everything passed.
func (l *Lab) Close(ctx context.Context, out io.Writer) error {
	cleanupErr := l.cleanup.Run(ctx, cleanupLimit)
	if cleanupErr != nil {
		cleanupErr = l.problem("clean-up", cleanupErr)
	}
	return l.finish(out, cleanupErr)
}

// provision makes the lab and holds its lock until the end of the run.
func (l *Lab) provision(ctx context.Context, options Options) error {
	lock, err := clusters.Acquire(options.Spec.Name, "make e2e")
	if err != nil {
		return err
	}
	l.cleanup.Push("lock of the lab", func(context.Context) error { return lock.Release() })
	started := time.Now()
	l.Cluster, err = clusters.Ensure(ctx, options.Spec, clusters.Options{
		Lock: lock, Progress: l.progress, Recreate: true,
		Furnish: func(ctx context.Context, cluster *clusters.Cluster) error { return Furnish(ctx, cluster, l.progress) },
	})
	if err != nil {
		return err
	}
	if !l.Cluster.Reused && !options.Keep {
		l.cleanup.Push("lab", func(ctx context.Context) error { return clusters.DownLocked(ctx, options.Spec.Name, l.progress) })
	}
	if l.Parts, l.loadgen, err = Equip(ctx, l.Cluster, l.progress); err != nil {
		return err
	}
	return l.Results.Phase("lab up, every ingress answers", started)
}

func (l *Lab) openResults(dir string) error {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("artifacts directory %s: %w", dir, err)
	}
	l.Dir = filepath.Join(absolute, time.Now().UTC().Format("20060102-150405"))
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return fmt.Errorf("artifacts directory: %w", err)
	}
	l.Results, err = report.Open(l.Dir, time.Now)
	if err != nil {
		return err
	}
	return l.Results.Family(l.Family)
}

// problem notes an error in the results and returns it.
func (l *Lab) problem(stage string, err error) error {
	if l.Results == nil {
		return err
	}
	if noteErr := l.Results.Problem(stage, err); noteErr != nil {
		return fmt.Errorf("%w (and it could not be noted: %w)", err, noteErr)
	}
	return err
}

func (l *Lab) say(format string, args ...any) {
	fmt.Fprintf(l.progress, format+"\n", args...)
}

// ShapeLinks shapes both directions of every worker's link.
func (l *Lab) ShapeLinks(ctx context.Context, rate units.BitRate) error {
	return links.Shape(ctx, links.Both(rate), l.Cluster.WorkerNames()...)
}
