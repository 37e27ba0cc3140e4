package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"secondhop/internal/cleanup"
	"secondhop/internal/deploy"
	"secondhop/internal/trial"
)

// Restyle gives the application that is deployed another strategy, with the same
// pods, and waits until every ingress and every kube-proxy follows.
func (l *Lab) Restyle(ctx context.Context, app *deploy.App, strategy deploy.Strategy) (*deploy.App, error) {
	started := time.Now()
	l.deployed = nil // it is no longer just as asked for
	restyled, err := l.Parts.Reapply(ctx, strategy.Apply(app.Spec))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, steadyLimit)
	defer cancel()
	if err := l.Parts.WaitSteady(ctx, restyled); err != nil {
		return nil, fmt.Errorf("%s: %w", strategy.Name, err)
	}
	if strategy.PerRequest {
		if err := l.Parts.WaitProxies(ctx, restyled); err != nil {
			return nil, fmt.Errorf("%s: %w", strategy.Name, err)
		}
	}
	l.say("%s is steady after %s", strategy.Name, time.Since(started).Round(100*time.Millisecond))
	return restyled, nil
}

// Count sends a load and observes nothing but its answers: what a table of shares
// needs, in the time that it needs.
func (l *Lab) Count(ctx context.Context, app *deploy.App, spec trial.Spec) (_ *Outcome, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Run(ctx, cleanupLimit)) }()
	outcome, err := l.newOutcome(app, spec)
	if err != nil {
		return nil, err
	}
	client, err := l.startLoad(ctx, app, outcome, &undo)
	if err != nil {
		return nil, err
	}
	if _, err := drive(ctx, spec, client); err != nil {
		return nil, err
	}
	return outcome, outcome.readClient()
}

const zoneLabel = "topology.kubernetes.io/zone"

// outsider is the label that makes the controllers of Kubernetes leave a node out
// when they count zones and their processors: they take it for a control plane.
const outsider = "node-role.kubernetes.io/control-plane"

// Zone puts the first workers into the given zones. The lab is then these workers:
// the others are kept out of the ingress and of everything that follows zones. The
// ingresses are restarted, since they learn their zone when they start.
func (l *Lab) Zone(ctx context.Context, zones []string) error {
	if l.whole == nil {
		l.whole = l.Cluster
	}
	used := *l.whole
	used.Nodes = slices.Clone(l.whole.Nodes[:1+len(zones)])
	for i, worker := range l.whole.Workers() {
		labels := map[string]any{zoneLabel: nil, outsider: ""}
		if i < len(zones) {
			labels = map[string]any{zoneLabel: zones[i], outsider: nil}
			used.Nodes[1+i].Zone = zones[i]
		}
		if err := l.label(ctx, worker.Name, labels); err != nil {
			return err
		}
	}
	l.Cluster, l.Parts.Cluster, l.Parts.Edges.Nodes = &used, &used, used.WorkerNames()
	return l.Parts.RestartEdges(ctx)
}

// label sets labels of a node, and takes away those that are nil.
func (l *Lab) label(ctx context.Context, node string, labels map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err == nil {
		_, err = l.Parts.Client.Typed.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("label node %s: %w", node, err)
	}
	return nil
}

// Whole is the lab with all of its workers again, in the zones that it was made with.
func (l *Lab) Whole(ctx context.Context) error {
	if l.whole == nil {
		return nil
	}
	var zones []string
	for _, worker := range l.whole.Workers() {
		zones = append(zones, worker.Zone)
	}
	return l.Zone(ctx, zones)
}
