package kind

import (
	"errors"
	"flag"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"secondhop/internal/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestConfig(t *testing.T) {
	t.Parallel()
	cluster := Cluster{
		Name: "secondhop", Image: "node:1", Network: "secondhop", PatchDir: "/kind/patches", ProxyMode: "nftables",
		Pods: netip.MustParsePrefix("198.18.128.0/17"), Services: netip.MustParsePrefix("198.19.0.0/16"),
		Workers: []map[string]string{{"topology.kubernetes.io/zone": "zone-a"}, {"topology.kubernetes.io/zone": "zone-b"}},
	}
	got, err := yaml.Marshal(cluster.config())
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/config.yaml"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; go test ./clusters/kind -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got; -update accepts it):\n%s", diff)
	}
}

func TestPatchesAreYAML(t *testing.T) {
	t.Parallel()
	for _, patch := range (Cluster{PatchDir: "/kind/patches"}).kubeadmPatches() {
		var document map[string]any
		if err := yaml.Unmarshal([]byte(patch), &document); err != nil || document["kind"] == nil {
			t.Errorf("patch %q: %v, %v", patch, document, err)
		}
	}
}

func TestChildEnvironment(t *testing.T) {
	t.Parallel()
	got := childEnvironment([]string{"PATH=/bin", "HTTP_PROXY=x", "https_proxy=y", "no_proxy=z"})
	want := []string{"PATH=/bin", "KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER=overlayfs"}
	if !slices.Equal(got, want) {
		t.Errorf("childEnvironment = %v, want %v", got, want)
	}
	got = childEnvironment([]string{"KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER=native"})
	if !slices.Equal(got, []string{"KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER=native"}) {
		t.Errorf("the user's snapshotter is lost: %v", got)
	}
}

func TestExplainHasCures(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 1")
	for said, cure := range map[string]string{
		"Error response from daemon: runc: unable to apply caps: operation not permitted":                           "secondhop doctor --fix",
		`Error response from daemon: Conflict. The container name "/lab-worker" is already in use by container "1"`: "--name",
		"Bind for 127.0.0.1:4000 failed: port is already allocated":                                                 "run the command again",
		"write /var/lib/docker/x: no space left on device":                                                          "free some space",
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it up?":                             "secondhop down",
	} {
		err := explain(failed, said)
		if failure.ExitCode(err) != 2 || !strings.Contains(failure.Cure(err), cure) || strings.Contains(err.Error(), "\n") {
			t.Errorf("explain(%q) = %v, cure %q", said, err, failure.Cure(err))
		}
	}
	if err := explain(failed, ""); !errors.Is(err, failed) {
		t.Errorf("a silent end: %v", err)
	}
	if err := explain(nil, "warning"); err != nil {
		t.Errorf("success: %v", err)
	}
}
