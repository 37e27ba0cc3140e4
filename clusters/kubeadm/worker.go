package kubeadm

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"secondhop/clusters/engine"
)

// Worker is a node that is to become part of the cluster.
type Worker struct {
	Name    string
	Address netip.Addr
	Labels  map[string]string
	// Pid is the node's first process, through which its files are reached.
	Pid int
}

// ControlPlane is what a worker's kubelet needs of the control plane: it is read
// from the files that kubeadm init has written there.
type ControlPlane struct {
	cluster string
	caPEM   []byte
	ca      *x509.Certificate
	key     crypto.Signer
	admin   *clientcmdapi.Config
	kubelet []byte // the kubelet's configuration, the same on all nodes
	flags   string // the kubelet's flags, of which some belong to the node
}

// ReadControlPlane reads the files of the control plane node whose first process is
// pid. They are there before the API server first answers.
func ReadControlPlane(cluster string, pid int) (*ControlPlane, error) {
	control, err := readControlPlane(cluster, fmt.Sprintf("/proc/%d/root", pid))
	if err != nil {
		return nil, fmt.Errorf("read what kubeadm init has written: %w", err)
	}
	return control, nil
}

func readControlPlane(cluster, root string) (*ControlPlane, error) {
	control := &ControlPlane{cluster: cluster}
	contents := map[string][]byte{}
	for _, path := range []string{"etc/kubernetes/pki/ca.crt", "etc/kubernetes/pki/ca.key", "etc/kubernetes/admin.conf",
		"var/lib/kubelet/config.yaml", "var/lib/kubelet/kubeadm-flags.env"} {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		contents[filepath.Base(path)] = text
	}
	control.caPEM, control.kubelet = contents["ca.crt"], contents["config.yaml"]
	control.flags = string(contents["kubeadm-flags.env"])
	certificates, err := cert.ParseCertsPEM(control.caPEM)
	if err != nil {
		return nil, fmt.Errorf("ca.crt: %w", err)
	}
	control.ca = certificates[0]
	key, err := keyutil.ParsePrivateKeyPEM(contents["ca.key"])
	if err != nil {
		return nil, fmt.Errorf("ca.key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("ca.key: it cannot sign")
	}
	control.key = signer
	if control.admin, err = clientcmd.Load(contents["admin.conf"]); err != nil {
		return nil, fmt.Errorf("admin.conf: %w", err)
	}
	return control, nil
}

// StartWorker has the worker's kubelet join the cluster. It writes the files that
// kubeadm join would write, with a client certificate signed at once by the
// cluster's own authority. That replaces kubeadm's discovery, whose retries are
// five seconds apart, and the kubelet's request for a certificate; and since no
// answer of the API server is needed, kubelets start while it still gets up.
func (c *ControlPlane) StartWorker(ctx context.Context, worker Worker) error {
	files, err := c.files(worker, time.Now())
	if err == nil {
		err = writeFiles(fmt.Sprintf("/proc/%d/root", worker.Pid), files)
	}
	if err == nil {
		_, err = engine.Run(ctx, "exec", worker.Name, "systemctl", "restart", "--no-block", "kubelet")
	}
	if err != nil {
		return fmt.Errorf("start the kubelet of %s: %w", worker.Name, err)
	}
	return nil
}

// files are the worker's files by path, below the root of the node.
func (c *ControlPlane) files(worker Worker, now time.Time) (map[string][]byte, error) {
	flags, err := kubeletFlags(c.flags, c.cluster, worker)
	if err != nil {
		return nil, err
	}
	certificate, key, err := c.sign(worker.Name, now)
	if err != nil {
		return nil, err
	}
	kubeconfig := clientcmdapi.NewConfig()
	for _, cluster := range c.admin.Clusters {
		kubeconfig.Clusters[c.cluster] = cluster
	}
	kubeconfig.AuthInfos[worker.Name] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	kubeconfig.Contexts["default"] = &clientcmdapi.Context{Cluster: c.cluster, AuthInfo: worker.Name}
	kubeconfig.CurrentContext = "default"
	text, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"etc/kubernetes/pki/ca.crt":         c.caPEM,
		"etc/kubernetes/kubelet.conf":       text,
		"var/lib/kubelet/kubeadm-flags.env": []byte(flags),
		"var/lib/kubelet/config.yaml":       c.kubelet,
	}, nil
}

// sign makes a key and a certificate by which the API server knows a node.
func (c *ControlPlane) sign(node string, now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		NotBefore:    now.Add(-5 * time.Minute),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.ca, private.Public(), c.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of %s: %w", node, err)
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, err
}

// kubeletFlags are the control plane's flags with those that belong to the node
// replaced: KUBELET_KUBEADM_ARGS="--node-ip=... --provider-id=... ...".
func kubeletFlags(controlPlane, cluster string, worker Worker) (string, error) {
	name, quoted, found := strings.Cut(strings.TrimSpace(controlPlane), "=")
	if !found || !strings.HasPrefix(quoted, `"`) || !strings.HasSuffix(quoted, `"`) || len(quoted) < 2 {
		return "", fmt.Errorf("the kubelet's flags have an unknown form: %s", controlPlane)
	}
	var flags []string
	for _, flag := range strings.Fields(quoted[1 : len(quoted)-1]) {
		key, _, _ := strings.Cut(flag, "=")
		if !slices.Contains([]string{"--node-ip", "--node-labels", "--provider-id"}, key) {
			flags = append(flags, flag)
		}
	}
	labels := make([]string, 0, len(worker.Labels))
	for key, value := range worker.Labels {
		labels = append(labels, key+"="+value)
	}
	slices.Sort(labels)
	flags = append(flags, "--node-ip="+worker.Address.String(), "--node-labels="+strings.Join(labels, ","),
		"--provider-id=kind://docker/"+cluster+"/"+worker.Name)
	return name + `="` + strings.Join(flags, " ") + "\"\n", nil
}

// writeFiles writes the kubelet's configuration last: its unit does not start
// before that is there.
func writeFiles(root string, files map[string][]byte) error {
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int {
		last := func(path string) int {
			if filepath.Base(path) == "config.yaml" {
				return 1
			}
			return 0
		}
		return last(a) - last(b)
	})
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes/manifests"), 0o700); err != nil {
		return err
	}
	for _, path := range paths {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, files[path], 0o600); err != nil {
			return err
		}
	}
	return nil
}
