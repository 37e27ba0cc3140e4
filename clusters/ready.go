package clusters

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"secondhop/clusters/engine"
	"secondhop/internal/failure"
	"secondhop/internal/wait"
)

// How long the steps of a bootstrap may take on a slow machine.
const (
	apiLimit   = 4 * time.Minute
	readyLimit = 4 * time.Minute
	poll       = 250 * time.Millisecond
)

// apiServer is where the API server is published on the host.
func apiServer(ctx context.Context, controlPlane string) (string, error) {
	container, err := engine.Inspect(ctx, controlPlane)
	if err != nil {
		return "", err
	}
	address, ok := container.Ports["6443/tcp"]
	if !ok {
		return "", failure.Infra(fmt.Errorf("%s publishes no port for the API server (%s)", controlPlane, container.Status), "secondhop up --recreate")
	}
	return address, nil
}

// awaitAPI waits until the API server answers anything at all, and writes the
// kubeconfig.
func (m *maker) awaitAPI(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiLimit)
	defer cancel()
	address, err := apiServer(ctx, m.cluster.ControlPlane().Name)
	if err != nil {
		return err
	}
	client := anyClient()
	defer client.CloseIdleConnections()
	err = wait.Until(ctx, "the API server", poll, func(ctx context.Context) error {
		return m.waiting(answers(ctx, client, address))
	})
	if err != nil {
		return err
	}
	return writeKubeconfig(m.state, m.pods[0], address)
}

// anyClient trusts whoever answers: that there is an answer is all it wants to know.
func anyClient() *http.Client {
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
}

func answers(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/livez", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return errors.New("it does not answer yet")
	}
	return answer.Body.Close()
}

// awaitReady waits until every node can take pods and the cluster's own parts run,
// and has the lab furnished meanwhile.
func (m *maker) awaitReady(ctx context.Context) error {
	client, err := m.client()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if m.furnish != nil {
		group.Go(func() error { return m.furnish(ctx, m.cluster) })
	}
	group.Go(func() error {
		ctx, cancel := context.WithTimeout(ctx, readyLimit)
		defer cancel()
		return wait.Until(ctx, "the cluster", poll, func(ctx context.Context) error {
			return m.waiting(notReady(ctx, client, m.cluster))
		})
	})
	return group.Wait()
}

func (m *maker) client() (kubernetes.Interface, error) { return m.cluster.client() }

func (c *Cluster) client() (kubernetes.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// notReady names the first thing that is not as it must be, or is nil.
func notReady(ctx context.Context, client kubernetes.Interface, cluster *Cluster) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	if err := nodesNotReady(nodes.Items, cluster); err != nil {
		return err
	}
	proxy, err := client.AppsV1().DaemonSets("kube-system").Get(ctx, "kube-proxy", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("kube-proxy: %w", err)
	}
	dns, err := client.AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("CoreDNS: %w", err)
	}
	return partsNotReady(proxy, dns, len(cluster.Nodes))
}

func nodesNotReady(have []corev1.Node, cluster *Cluster) error {
	byName := map[string]corev1.Node{}
	for _, node := range have {
		byName[node.Name] = node
	}
	for _, want := range cluster.Nodes {
		node, ok := byName[want.Name]
		if !ok {
			return fmt.Errorf("node %s has not registered", want.Name)
		}
		if why := nodeMiss(node); why != "" {
			return fmt.Errorf("node %s is not ready: %s", want.Name, why)
		}
		if node.Spec.PodCIDR != want.PodCIDR.String() {
			return fmt.Errorf("node %s has pod addresses %q instead of %s", want.Name, node.Spec.PodCIDR, want.PodCIDR)
		}
	}
	return nil
}

func nodeMiss(node corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			if condition.Status == corev1.ConditionTrue {
				return ""
			}
			return condition.Message
		}
	}
	return "it has reported no state"
}

func partsNotReady(proxy *appsv1.DaemonSet, dns *appsv1.Deployment, nodes int) error {
	if got := int(proxy.Status.NumberReady); got < nodes {
		return fmt.Errorf("kube-proxy is ready on %d of %d nodes", got, nodes)
	}
	if dns.Status.ObservedGeneration < dns.Generation || dns.Status.ReadyReplicas < 1 || dns.Status.UpdatedReplicas < 1 {
		return fmt.Errorf("CoreDNS is not ready (%d of %d)", dns.Status.ReadyReplicas, dns.Status.Replicas)
	}
	return nil
}
