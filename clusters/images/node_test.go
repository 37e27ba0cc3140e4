package images

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kindDir is the source of kind, which this module depends on as well.
func kindDir(t *testing.T) string {
	t.Helper()
	text, err := goCommand(t.Context(), ".", "list", "-m", "-f", "{{.Version}} {{.Dir}}", kindModule)
	if err != nil {
		t.Fatal(err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(text), " ")
	if version != kindVersion {
		t.Fatalf("nodes are made for kind %s, and go.mod has %s: change kindVersion", kindVersion, version)
	}
	if dir == "" {
		t.Skip("the source of kind is not in the module cache")
	}
	return dir
}

func TestKindFilesBecomeALayer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "layer.tar")
	l, err := newLayer(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := addKindFiles(l, filepath.Join(kindDir(t), kindFiles), "3.10.1"); err != nil {
		t.Fatal(err)
	}
	addLinks(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	found := contents(t, path)
	for _, name := range []string{"usr/local/bin/entrypoint", "kind/bin/mount-product-files.sh", "etc/systemd/system/kubelet.service"} {
		if found[name] == "" {
			t.Errorf("the layer lacks %s", name)
		}
	}
	for name, want := range map[string]string{
		"usr/local/bin/containerd": "-> /usr/bin/containerd",
		"opt/cni/bin":              "-> /usr/lib/cni",
		"etc/systemd/system/multi-user.target.wants/kubelet.service": "-> /etc/systemd/system/kubelet.service",
	} {
		if found[name] != want {
			t.Errorf("%s is %q, want %q", name, found[name], want)
		}
	}
	config := found["etc/containerd/config.toml"]
	for _, want := range []string{`sandbox_image = "registry.k8s.io/pause:3.10.1"`, "restrict_oom_score_adj = true"} {
		if !strings.Contains(config, want) {
			t.Errorf("containerd's configuration lacks %q", want)
		}
	}
}

func TestNodeContainerdConfigRefusesAStrangeFile(t *testing.T) {
	t.Parallel()
	if got, err := nodeContainerdConfig("version = 3\n", "3.10"); err == nil {
		t.Errorf("got %q, want an error", got)
	}
}

func TestBaseSpec(t *testing.T) {
	t.Parallel()
	got, err := baseSpec([]byte(`{"ociVersion":"1.1.0","process":{"rlimits":[{"type":"RLIMIT_NOFILE"}],"cwd":"/"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var spec map[string]any
	if err := json.Unmarshal(got, &spec); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"ociVersion": "1.1.0", "process": map[string]any{"cwd": "/"},
		"hooks": map[string]any{"createContainer": []any{map[string]any{"path": "/kind/bin/mount-product-files.sh"}}}}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("specification (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "{}", `{"process":1}`} {
		if _, err := baseSpec([]byte(bad)); err == nil {
			t.Errorf("baseSpec(%q) gave no error", bad)
		}
	}
}

func TestIncompleteImages(t *testing.T) {
	t.Parallel()
	const good = "REF TYPE DIGEST STATUS SIZE UNPACKED\na:1 t sha256:1 complete (2/2) 1 MiB/1 MiB true\n"
	for _, tc := range []struct {
		name, listing string
		want          int
	}{
		{"all there", good, 0},
		{"not unpacked", good + "b:1 t sha256:2 complete (2/2) 1 MiB/1 MiB false\n", 1},
		{"a layer missing", good + "b:1 t sha256:2 incomplete (1/2) 1 KiB/1 MiB true\n", 1},
		{"nothing", "", 1},
		{"a heading only", "REF TYPE\n", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := incompleteImages(tc.listing); len(got) != tc.want {
				t.Errorf("incompleteImages = %q, want %d", got, tc.want)
			}
		})
	}
}

func TestInnerImagesAreWhatKubeadmAsksFor(t *testing.T) {
	t.Parallel()
	layer := func(name string) string { return name }
	found := map[string][]string{}
	for _, spec := range innerImages("1.34.4", components{"3.6.5-0", "v1.12.1", "3.10.1"}, layer) {
		found[spec.ref] = spec.layers
	}
	want := map[string][]string{
		"registry.k8s.io/kube-apiserver:v1.34.4":          {"kube"},
		"registry.k8s.io/kube-controller-manager:v1.34.4": {"kube"},
		"registry.k8s.io/kube-scheduler:v1.34.4":          {"kube"},
		"registry.k8s.io/kube-proxy:v1.34.4":              {"kube", "tools"},
		"registry.k8s.io/etcd:3.6.5-0":                    {"etcd"},
		"registry.k8s.io/coredns/coredns:v1.12.1":         {"coredns"},
		"registry.k8s.io/pause:3.10.1":                    {"pause"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

func TestLinkedProgramsSurviveAMove(t *testing.T) {
	t.Parallel()
	st := store{filepath.Join(t.TempDir(), "before")}
	if err := os.Mkdir(st.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	kube, etcd := step{name: "kube"}, step{name: "etcd"}
	for _, s := range []step{kube, etcd} {
		if err := os.WriteFile(st.path(s), []byte(s.name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkPrograms(st, kube, etcd, filepath.Join(st.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	after := filepath.Join(filepath.Dir(st.dir), "after")
	if err := os.Rename(st.dir, after); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{"kube-apiserver": "kube", "kubectl": "kube", "etcd": "etcd"} {
		if got := string(readFile(t, filepath.Join(after, "bin", program))); got != want {
			t.Errorf("%s is %q, want %q", program, got, want)
		}
	}
}
