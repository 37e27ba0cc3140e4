package kubeadm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"
)

const flagsOfControlPlane = `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock --node-ip=198.18.0.2 --node-labels= --pod-infra-container-image=registry.k8s.io/pause:3.10.1 --provider-id=kind://docker/lab/lab-control-plane"` + "\n"

func worker() Worker {
	return Worker{Name: "lab-worker", Address: netip.MustParseAddr("198.18.0.3"), Labels: map[string]string{"b": "2", "a": "1"}}
}

func TestKubeletFlags(t *testing.T) {
	t.Parallel()
	got, err := kubeletFlags(flagsOfControlPlane, "lab", worker())
	want := `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock --pod-infra-container-image=registry.k8s.io/pause:3.10.1 ` +
		`--node-ip=198.18.0.3 --node-labels=a=1,b=2 --provider-id=kind://docker/lab/lab-worker"` + "\n"
	if err != nil || got != want {
		t.Errorf("kubeletFlags = %s, %v\nwant %s", got, err, want)
	}
	for _, bad := range []string{"", "ARGS", `ARGS="`, "ARGS=--a"} {
		if got, err := kubeletFlags(bad, "lab", worker()); err == nil {
			t.Errorf("kubeletFlags(%q) = %q, want an error", bad, got)
		}
	}
}

func FuzzKubeletFlags(f *testing.F) {
	f.Add(flagsOfControlPlane)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := kubeletFlags(text, "lab", worker())
		if err == nil && strings.Count(got, "--node-ip=198.18.0.3") != 1 {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestWorkerFilesAreTrustedByTheAuthority(t *testing.T) {
	t.Parallel()
	root := controlPlaneRoot(t)
	control, err := readControlPlane("lab", root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := control.files(worker(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := clientcmd.RESTConfigFromKubeConfig(files["etc/kubernetes/kubelet.conf"])
	if err != nil {
		t.Fatal(err)
	}
	if kubeconfig.Host != "https://lab-control-plane:6443" {
		t.Errorf("the kubelet talks to %s", kubeconfig.Host)
	}
	pair, err := tls.X509KeyPair(kubeconfig.CertData, kubeconfig.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(control.ca)
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if got := certificate.Subject.String(); got != "CN=system:node:lab-worker,O=system:nodes" {
		t.Errorf("subject %s", got)
	}
	target := t.TempDir()
	if err := writeFiles(target, files); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(target, "var/lib/kubelet/config.yaml")); err != nil || string(got) != "kind: KubeletConfiguration\n" {
		t.Errorf("config.yaml = %q, %v", got, err)
	}
}

func TestReadControlPlaneSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	root := controlPlaneRoot(t)
	if err := os.WriteFile(filepath.Join(root, "etc/kubernetes/pki/ca.key"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readControlPlane("lab", root); err == nil || !strings.Contains(err.Error(), "ca.key") {
		t.Errorf("error = %v", err)
	}
	if _, err := readControlPlane("lab", t.TempDir()); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("error = %v", err)
	}
}

// controlPlaneRoot holds the files of a control plane with an authority of its own.
func controlPlaneRoot(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	err = writeFiles(root, map[string][]byte{
		"etc/kubernetes/pki/ca.crt":         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"etc/kubernetes/pki/ca.key":         keyPEM,
		"etc/kubernetes/admin.conf":         []byte("apiVersion: v1\nkind: Config\nclusters:\n- name: lab\n  cluster:\n    server: https://lab-control-plane:6443\n"),
		"var/lib/kubelet/config.yaml":       []byte("kind: KubeletConfiguration\n"),
		"var/lib/kubelet/kubeadm-flags.env": []byte(flagsOfControlPlane),
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}
