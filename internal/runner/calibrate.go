package runner

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"secondhop/clusters/links"
	"secondhop/internal/command"
	"secondhop/internal/measure"
	"secondhop/internal/observe"
	"secondhop/internal/report"
)

// quietLimit is how long the machine may take to settle after a lab was made.
const quietLimit = 30 * time.Second

// calibrate measures every link in both directions before anything else uses it.
// A lab whose links are not what they should be proves nothing about bytes.
func (l *Lab) calibrate(ctx context.Context) error {
	started := time.Now()
	quiet, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	if err := links.AwaitQuiet(quiet, links.Quiet); err != nil && ctx.Err() != nil {
		return err // else it is measured as it is, and the idle time says what that is worth
	}
	calibration, err := l.Cluster.Calibrate(ctx, links.DefaultPlan())
	if err != nil {
		return err
	}
	var entries []report.Calibration
	var assertions []measure.Assertion
	for _, g := range calibration.Goodputs {
		entries = append(entries, report.Calibration{
			Node: g.Node, Direction: string(g.Direction), Rate: g.Rate, Goodput: g.Measured, Ideal: g.Ideal,
		})
		subject := g.Node + " " + string(g.Direction)
		if g.HostIdle < links.MinIdle {
			assertions = append(assertions, measure.CannotTell("link", subject,
				fmt.Sprintf("the machine was only %.0f %% idle, so that it and not the link was measured", 100*g.HostIdle)))
			continue
		}
		assertions = append(assertions, measure.Near("link", subject, "ratio", g.Ratio(), 1, links.Tolerance))
	}
	if err := l.Results.Calibration(entries...); err != nil {
		return err
	}
	if err := l.Results.Assert("calibration of links", assertions...); err != nil {
		return err
	}
	return l.Results.Phase("links calibrated", started)
}

// describe notes what a reader needs to know about where the figures come from.
func (l *Lab) describe(ctx context.Context) error {
	facts, err := observe.ReadFacts(ctx, l.Cluster, l.Cluster.WorkerNames())
	if err != nil {
		return err
	}
	spec, image := l.Cluster.Spec, l.Cluster.NodeImage
	environment := report.Environment{
		CPUs: runtime.NumCPU(), Arch: runtime.GOARCH,
		Kubernetes: spec.Kubernetes, Image: image.Ref, ImageDigest: image.Digest, ImageSource: image.Source,
		Workers: spec.Workers, Zones: spec.Zones, Link: spec.Link,
		Command: strings.Join(os.Args, " "),
	}
	for _, node := range l.Cluster.Workers() {
		fact := facts[node.Name]
		environment.Kernel, environment.ProxyMode, environment.CongestionControl = fact.Kernel, fact.ProxyMode, fact.CongestionControl
	}
	environment.Docker = output(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	environment.GitCommit = output(ctx, "git", "rev-parse", "HEAD")
	environment.GitDirty = output(ctx, "git", "status", "--porcelain") != ""
	return l.Results.Environment(environment)
}

// output is what a program prints, or "" where it cannot say: a lab without git
// is a lab all the same.
func output(ctx context.Context, argv ...string) string {
	text, err := command.Run(ctx, argv...)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}
