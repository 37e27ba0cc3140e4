// Package kind is the one place that knows kind: it has kind start the node
// containers and write their kubeadm configuration, and nothing more. What
// follows (kubeadm, pod network, readiness) is done elsewhere, with a context and
// with errors that name what was waited for.
package kind

import (
	"net/netip"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// ClusterLabel is what kind marks the containers of a cluster with; its value is
// the cluster's name.
const ClusterLabel = "io.x-k8s.kind.cluster"

// RoleLabel is what kind marks a node's role with: control-plane or worker.
const RoleLabel = "io.x-k8s.kind.role"

// Cluster is what kind is asked for.
type Cluster struct {
	Name string
	// Image is the node image, which the engine must have.
	Image string
	// Network is the Docker network, which must exist.
	Network string
	// ProxyMode is kube-proxy's: iptables or nftables.
	ProxyMode string
	Pods      netip.Prefix
	Services  netip.Prefix
	// PatchDir is where kubeadm init looks for patches in the control plane node; it
	// must exist by then.
	PatchDir string
	// Workers holds the Kubernetes labels of each worker, in order.
	Workers []map[string]string
}

// kubeadmPatches change what kind would have kubeadm do:
//   - etcd leaves out its waits for the disk, which double the time to start and of
//     which a lab has no use;
//   - keys are elliptic curve ones, which cost a hundredth to make and a tenth to use;
//   - the controller manager gives out no pod addresses: the lab has done that
//     already when the first kubelet starts;
//   - the controller manager and the scheduler elect no leader: there is one of each,
//     and on a starved machine they would lose the election and start anew;
//   - kubeadm init takes further patches from a directory, and does not restart the
//     kubelet at its end for the sake of a certificate that lasts a year anyhow. The
//     list of phases to skip replaces kind's, which has the first one.
//
// The two forms are those that kubeadm's configuration has had; kind applies the
// one whose apiVersion matches what it writes.
func (c Cluster) kubeadmPatches() []string {
	return []string{`kind: ClusterConfiguration
apiVersion: kubeadm.k8s.io/v1beta3
featureGates:
  PublicKeysECDSA: true
etcd:
  local:
    extraArgs:
      unsafe-no-fsync: "true"
controllerManager:
  extraArgs:
    allocate-node-cidrs: "false"
    leader-elect: "false"
scheduler:
  extraArgs:
    leader-elect: "false"
`, `kind: ClusterConfiguration
apiVersion: kubeadm.k8s.io/v1beta4
encryptionAlgorithm: ECDSA-P256
etcd:
  local:
    extraArgs:
    - name: unsafe-no-fsync
      value: "true"
controllerManager:
  extraArgs:
  - name: allocate-node-cidrs
    value: "false"
  - name: enable-hostpath-provisioner
    value: "true"
  - name: leader-elect
    value: "false"
scheduler:
  extraArgs:
  - name: leader-elect
    value: "false"
`, `kind: InitConfiguration
patches:
  directory: ` + c.PatchDir + `
skipPhases:
- preflight
- kubelet-finalize
`}
}

// config is the cluster in kind's own words.
func (c Cluster) config() *v1alpha4.Cluster {
	config := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:     c.Name,
		Networking: v1alpha4.Networking{
			IPFamily:          v1alpha4.IPv4Family,
			APIServerAddress:  "127.0.0.1",
			PodSubnet:         c.Pods.String(),
			ServiceSubnet:     c.Services.String(),
			DisableDefaultCNI: true,
			KubeProxyMode:     v1alpha4.ProxyMode(c.ProxyMode),
		},
		KubeadmConfigPatches: c.kubeadmPatches(),
		Nodes:                []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole, Image: c.Image}},
	}
	for _, labels := range c.Workers {
		config.Nodes = append(config.Nodes, v1alpha4.Node{Role: v1alpha4.WorkerRole, Image: c.Image, Labels: labels})
	}
	return config
}
