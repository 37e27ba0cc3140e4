package runner

import (
	"fmt"
	"strings"

	"secondhop/fixtures/manifests"
	"secondhop/internal/deploy"
	"secondhop/internal/faults"
)

// RestartAll restarts every workload of the application at once.
func (l *Lab) RestartAll(app *deploy.App) faults.Event {
	return faults.RestartAll(l.Parts.Client, app.Spec.Namespace, app.Workloads...)
}

// RestartOneByOne restarts the application's first workload, a pod at a time.
func (l *Lab) RestartOneByOne(app *deploy.App) faults.Event {
	return faults.RestartOneByOne(l.Parts.Client, app.Spec.Namespace, app.Workloads[0])
}

// RestartUsher restarts the operator.
func (l *Lab) RestartUsher() faults.Event {
	return faults.RestartUsher(l.Parts.Client, manifests.LabNamespace)
}

// RolloutEdge replaces the ingresses, node by node.
func (l *Lab) RolloutEdge() faults.Event {
	return faults.RolloutEdge(l.Parts.Client, manifests.LabNamespace)
}

// Reload reloads HAProxy on every node.
func (l *Lab) Reload() faults.Event {
	return faults.Reload(l.Parts.Edges)
}

// PlacementName writes a placement as 4-4-4-1.
func PlacementName(pods []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(pods), "[]"), " ", "-")
}
