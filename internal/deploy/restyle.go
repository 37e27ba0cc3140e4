package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/fixtures/manifests"
	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// Reapply changes the application that is deployed into the given one, which may
// differ in its policy and its Service only: the pods stay. It does not wait.
func (l *Lab) Reapply(ctx context.Context, spec AppSpec) (*App, error) {
	if err := spec.validate(len(l.Cluster.Workers())); err != nil {
		return nil, err
	}
	app, values := spec.withDefaults().plan(l.Cluster.WorkerNames(), l.Images.Demoapp)
	if err := l.apply(ctx, values.Render); err != nil {
		return nil, fmt.Errorf("change %s/%s: %w", spec.Namespace, spec.Name, err)
	}
	return app, nil
}

// RestartEdges replaces all edges at the same time, for which nothing may be sent to
// them, and waits until every ingress answers.
func (l *Lab) RestartEdges(ctx context.Context) error {
	none := int64(teardownGrace)
	err := l.Client.Typed.CoreV1().Pods(manifests.LabNamespace).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{LabelSelector: "app=edge"})
	if err != nil {
		return fmt.Errorf("restart the edges: %w", err)
	}
	if err := l.Client.WaitRollout(ctx, manifests.LabNamespace, kube.Workload{Kind: kube.DaemonSet, Name: "edge"}); err != nil {
		return err
	}
	return l.WaitIngress(ctx)
}

// proxyPeriod is between two looks at the kube-proxies: longer than they wait
// between two runs of theirs (minSyncPeriod, 1 s).
const proxyPeriod = 1200 * time.Millisecond

// WaitProxies waits until the hints of the application's EndpointSlices are there,
// or gone, and every kube-proxy has done what it had queued, the same twice in a row.
func (l *Lab) WaitProxies(ctx context.Context, app *App) error {
	var last string
	return wait.Until(ctx, "every kube-proxy to follow the Service", proxyPeriod, func(ctx context.Context) error {
		hints, err := l.hints(ctx, app)
		if err != nil {
			return err
		}
		synced, err := l.proxiesSynced(ctx)
		if err != nil {
			return err
		}
		if now := hints + synced; now != last {
			last = now
			return errors.New("all have followed, and are looked at a second time")
		}
		return nil
	})
}

// hints describes the hints of the application's ready endpoints; an error says
// that its Service asks for hints that are not there yet, or that some are left.
func (l *Lab) hints(ctx context.Context, app *App) (string, error) {
	slices, err := l.Client.Typed.DiscoveryV1().EndpointSlices(app.Spec.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + app.Spec.Name})
	if err != nil {
		return "", fmt.Errorf("EndpointSlices of %s: %w", app.Spec.Name, err)
	}
	var text strings.Builder
	hinted, all := 0, 0
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			all++
			if endpoint.Hints != nil && len(endpoint.Hints.ForZones)+len(endpoint.Hints.ForNodes) > 0 {
				hinted++
			}
			fmt.Fprintf(&text, "%v %v\n", endpoint.Addresses, endpoint.Hints)
		}
	}
	service := app.Spec.Service
	switch {
	case all != app.Pods():
		return "", fmt.Errorf("%d of %d endpoints", all, app.Pods())
	case service.Distribution != "" && hinted < all:
		return "", fmt.Errorf("%d of %d endpoints have hints", hinted, all)
	case service.Distribution == "" && !service.TopologyAuto && hinted > 0:
		return "", fmt.Errorf("%d endpoints still have hints", hinted)
	}
	return text.String(), nil
}

// proxiesSynced says when each worker's kube-proxy was last through with its work.
func (l *Lab) proxiesSynced(ctx context.Context) (string, error) {
	workers := l.Cluster.WorkerNames()
	synced := make([]string, len(workers))
	group, ctx := errgroup.WithContext(ctx)
	for i, worker := range workers {
		group.Go(func() error {
			text, err := l.Cluster.Exec(ctx, worker, nil, "curl", "--silent", "--show-error", "--max-time", "2", "http://127.0.0.1:10249/metrics")
			if err != nil {
				return fmt.Errorf("metrics of kube-proxy on %s: %w", worker, err)
			}
			queued := metric(text, "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds")
			done := metric(text, "kubeproxy_sync_proxy_rules_last_timestamp_seconds")
			if done < queued {
				return fmt.Errorf("kube-proxy on %s has work queued", worker)
			}
			synced[i] = strconv.FormatFloat(queued, 'f', -1, 64)
			return nil
		})
	}
	err := group.Wait()
	return strings.Join(synced, " "), err
}

// metric is the value of a metric without labels in Prometheus' text form; 0 if it
// is not there.
func metric(text, name string) float64 {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err == nil {
				return value
			}
		}
	}
	return 0
}
