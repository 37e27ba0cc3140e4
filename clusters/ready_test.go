package clusters

import (
	"archive/tar"
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodesNotReadyNamesTheFirst(t *testing.T) {
	t.Parallel()
	cidr := netip.MustParsePrefix("198.18.129.0/24")
	cluster := &Cluster{Nodes: []Node{{Name: "lab-worker", PodCIDR: cidr}}}
	node := func(status corev1.ConditionStatus, cidr string) []corev1.Node {
		return []corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "lab-worker"},
			Spec:       corev1.NodeSpec{PodCIDR: cidr},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: status, Message: "container runtime network not ready"}}},
		}}
	}
	for _, tc := range []struct {
		name  string
		nodes []corev1.Node
		want  string
	}{
		{"all well", node(corev1.ConditionTrue, "198.18.129.0/24"), ""},
		{"none", nil, "node lab-worker has not registered"},
		{"not ready", node(corev1.ConditionFalse, ""), "node lab-worker is not ready: container runtime network not ready"},
		{"silent", []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "lab-worker"}}}, "it has reported no state"},
		{"no addresses", node(corev1.ConditionTrue, ""), `has pod addresses "" instead of 198.18.129.0/24`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := nodesNotReady(tc.nodes, cluster)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("nodesNotReady = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestPartsNotReady(t *testing.T) {
	t.Parallel()
	proxy := &appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{NumberReady: 5}}
	dns := &appsv1.Deployment{Status: appsv1.DeploymentStatus{ReadyReplicas: 1, UpdatedReplicas: 1, Replicas: 1}}
	if err := partsNotReady(proxy, dns, 5); err != nil {
		t.Errorf("all well: %v", err)
	}
	if err := partsNotReady(proxy, dns, 6); err == nil || !strings.Contains(err.Error(), "5 of 6") {
		t.Errorf("a node without kube-proxy: %v", err)
	}
	old := dns.DeepCopy()
	old.Generation = 2
	if err := partsNotReady(proxy, old, 5); err == nil {
		t.Error("a CoreDNS of before the change passes")
	}
}

func TestReadRepoTags(t *testing.T) {
	t.Parallel()
	archive := func(name, text string) *bytes.Buffer {
		var buffer bytes.Buffer
		w := tar.NewWriter(&buffer)
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return &buffer
	}
	got, err := readRepoTags(archive("manifest.json", `[{"RepoTags":["secondhop/usher:1","alpine:3","registry.k8s.io/pause:3.10"]}]`))
	want := []string{"docker.io/secondhop/usher:1", "docker.io/library/alpine:3", "registry.k8s.io/pause:3.10"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("readRepoTags = %v, %v, want %v", got, err, want)
	}
	for name, bad := range map[string]*bytes.Buffer{
		"no manifest": archive("index.json", "{}"), "no names": archive("manifest.json", "[{}]"),
		"no JSON": archive("manifest.json", "<"), "no archive": bytes.NewBufferString("plain text"),
	} {
		if got, err := readRepoTags(bad); err == nil {
			t.Errorf("%s: %v, want an error", name, got)
		}
	}
}

func FuzzReadRepoTags(f *testing.F) {
	f.Add([]byte("manifest.json"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		if names, err := readRepoTags(bytes.NewReader(archive)); err == nil && len(names) == 0 {
			t.Error("no names and no error")
		}
	})
}
