package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"golang.org/x/sync/errgroup"

	"secondhop/clusters/cni"
	"secondhop/internal/wait"
)

// writeKubeconfig makes the control plane's own kubeconfig one that works from the
// host, in a file of the lab: nobody's ~/.kube/config is touched.
func writeKubeconfig(files state, controlPlane cni.Node, address string) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/etc/kubernetes/admin.conf", controlPlane.Pid))
	if err != nil {
		return fmt.Errorf("read the kubeconfig of %s: %w", controlPlane.Name, err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of %s: %w", controlPlane.Name, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + address
	}
	if text, err = clientcmd.Write(*config); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return files.write(files.kubeconfig(), text)
}

// adjust does what kubeadm leaves to others: it tells each node object its pod
// addresses as soon as there is one, and moves CoreDNS to the control plane, where
// no traffic and no fault of a test reaches it.
func (m *maker) adjust(ctx context.Context) error {
	client, err := m.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return wait.Until(ctx, "CoreDNS to be set up", poll, func(ctx context.Context) error { return pinDNS(ctx, client) })
	})
	for _, node := range m.cluster.Nodes {
		group.Go(func() error {
			return wait.Until(ctx, "node "+node.Name+" to register", poll, func(ctx context.Context) error {
				return setPodCIDR(ctx, client, node)
			})
		})
	}
	return group.Wait()
}

// pinDNS makes CoreDNS one pod on the control plane, whose readiness is asked for
// every second instead of every ten: the lab waits for it.
func pinDNS(ctx context.Context, client kubernetes.Interface) error {
	patch := `{"spec":{"replicas":1,"strategy":{"type":"Recreate","rollingUpdate":null},
		"template":{"spec":{"nodeSelector":{"node-role.kubernetes.io/control-plane":""},
		"containers":[{"name":"coredns","readinessProbe":{"periodSeconds":1}}]}}}}`
	_, err := client.AppsV1().Deployments("kube-system").Patch(ctx, "coredns", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// setPodCIDR writes a node's pod addresses into its object, once: Kubernetes does
// not let them change.
func setPodCIDR(ctx context.Context, client kubernetes.Interface, node Node) error {
	cidr := node.PodCIDR.String()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"podCIDR": cidr, "podCIDRs": []string{cidr}}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("it is not there yet")
	}
	return err
}
