package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/edge/haproxy"
	"secondhop/internal/edges"
	"secondhop/internal/wait"
)

// fullWeight is the weight of a slot whose pod says 100 %.
const fullWeight = 100

// steadyPeriod is how often the edges are asked: the state changes by agent polls
// of a second, and four programs started in pods are work for the machine.
const steadyPeriod = time.Second

// WaitSteady waits until the application is in the state in which it may be
// measured: all roll-outs over and old pods gone, every slot Service addressed, in
// every edge each slot that has a pod open at full weight and every pod a regular
// server that is up, the same twice in a row. Every ingress answers.
func (l *Lab) WaitSteady(ctx context.Context, app *App) error {
	if err := l.waitPods(ctx, app); err != nil {
		return err
	}
	if err := l.waitSlotServices(ctx, app); err != nil {
		return err
	}
	if err := l.waitEdges(ctx, app); err != nil {
		return err
	}
	return l.WaitIngress(ctx)
}

func (l *Lab) waitPods(ctx context.Context, app *App) error {
	group, waiting := errgroup.WithContext(ctx)
	for _, workload := range app.Workloads {
		group.Go(func() error { return l.Client.WaitRollout(waiting, app.Spec.Namespace, workload) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// A pod of another generation of the application, of a worker that has none
	// now, would take part unnoticed.
	subject := fmt.Sprintf("%d pods of %s/%s in all", app.Pods(), app.Spec.Namespace, app.Spec.Name)
	pods, err := wait.For(ctx, subject, removePeriod, func(ctx context.Context) ([]corev1.Pod, error) {
		pods, err := l.Client.Pods(ctx, app.Spec.Namespace, app.Selector())
		if err == nil && len(pods) != app.Pods() {
			err = fmt.Errorf("%d exist", len(pods))
		}
		return pods, err
	})
	if err == nil && app.scheduled() {
		app.locate(pods)
	}
	return err
}

// locate counts the pods of each worker.
func (a *App) locate(pods []corev1.Pod) {
	for worker := range a.PodsPerNode {
		a.PodsPerNode[worker] = 0
	}
	for _, pod := range pods {
		a.PodsPerNode[pod.Spec.NodeName]++
	}
}

func (l *Lab) waitSlotServices(ctx context.Context, app *App) error {
	names := app.SlotServices()
	return wait.Until(ctx, "slot Services with an address: "+strings.Join(names, ", "), removePeriod, func(ctx context.Context) error {
		for _, name := range names {
			service, err := l.Client.Typed.CoreV1().Services(app.Spec.Namespace).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return fmt.Errorf("%s does not exist: usher has not made it", name)
			}
			if err != nil {
				return err
			}
			if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
				return fmt.Errorf("%s has no address", name)
			}
		}
		return nil
	})
}

func (l *Lab) waitEdges(ctx context.Context, app *App) error {
	var last string
	return wait.Until(ctx, "every HAProxy to have all slots and servers up", steadyPeriod, func(ctx context.Context) error {
		stats, err := l.Edges.Stats(ctx)
		if err != nil {
			return err
		}
		now, err := app.steady(stats)
		if err != nil {
			return err
		}
		if now != last {
			last = now
			return errors.New("all are up, and are looked at a second time")
		}
		return nil
	})
}

// steady says what is missing in the edges' servers, or describes the state that
// they are in.
func (a *App) steady(stats map[string]edges.Stats) (string, error) {
	var missing, state []string
	for _, node := range sortedNodes(a.PodsPerNode) {
		for _, server := range stats[node].Servers {
			if server.Proxy == a.Backend() || server.Proxy == a.OwnerBackend() {
				state = append(state, fmt.Sprintf("%s %s/%s %s %d", node, server.Proxy, server.Server, server.Status, server.Weight))
			}
		}
		if miss := a.missingOn(node, stats[node].Servers); miss != "" {
			missing = append(missing, node+" has "+miss)
		}
	}
	if len(missing) > 0 {
		return "", errors.New(strings.Join(missing, "; "))
	}
	return strings.Join(state, "\n"), nil
}

// missingOn says what the edge of a node lacks, or "".
func (a *App) missingOn(node string, servers []haproxy.ServerStat) string {
	slots, regular, service, known := 0, 0, 0, false
	for _, server := range servers {
		known = known || server.Proxy == a.Backend()
		switch {
		case !server.Up():
		case server.Proxy == a.OwnerBackend():
			regular++
		case server.Proxy != a.Backend():
		case strings.HasPrefix(server.Server, haproxy.SlotPrefix) && server.Weight == fullWeight:
			slots++
		case server.Server == "svc":
			service++
		}
	}
	var lacks []string
	if !known {
		return "no backend " + a.Backend()
	}
	if want := a.slotsOn(node); slots != want {
		lacks = append(lacks, fmt.Sprintf("%d of %d slots at full weight", slots, want))
	}
	if regular != a.Pods() {
		lacks = append(lacks, fmt.Sprintf("%d of %d regular servers up", regular, a.Pods()))
	}
	// A Service that only reaches the caller's node has nobody where no pod is.
	reachable := !a.Spec.Service.InternalLocal || a.PodsPerNode[node] > 0
	if a.Spec.Policy == PolicyClusterIP && reachable && service != 1 {
		lacks = append(lacks, "no address of the Service")
	}
	return strings.Join(lacks, " and ")
}

// slotsOn is how many slots of a node must be open. A pod with an odd agent holds a
// slot that stays shut.
func (a *App) slotsOn(node string) int {
	if a.Spec.Policy != PolicySlots || !a.Spec.Agent.opensSlots() {
		return 0
	}
	return min(a.PodsPerNode[node], a.Spec.Slots)
}

func sortedNodes(pods map[string]int) []string {
	nodes := make([]string, 0, len(pods))
	for node := range pods {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	return nodes
}
