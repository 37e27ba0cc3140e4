package images

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/clusters/engine"
	"secondhop/internal/failure"
	"secondhop/internal/wait"
)

// needEngine skips a test where no Docker engine answers.
func needEngine(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("docker"); err != nil {
		t.Skip("needs the docker command")
	}
	if err := engine.Answers(t.Context()); err != nil {
		t.Skipf("needs a Docker engine: %v", err)
	}
}

func TestPullGivesUpOnASilentRegistry(t *testing.T) {
	t.Parallel()
	needEngine(t)
	// It accepts connections and never says a word.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	start := time.Now()
	err = pull(t.Context(), silent.Addr().String()+"/node:v1", Options{PullTimeout: 500 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "no answer from the registry within 500ms") {
		t.Errorf("error = %v", err)
	}
	if spent := time.Since(start); spent > 8*time.Second {
		t.Errorf("it took %s to give up", spent)
	}
}

func TestPullFailsAtOnceWithoutARegistry(t *testing.T) {
	t.Parallel()
	needEngine(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	_ = closed.Close()
	start := time.Now()
	err = pull(t.Context(), address+"/node:v1", Options{})
	if err == nil || !strings.Contains(err.Error(), "pull "+address) {
		t.Errorf("error = %v", err)
	}
	if spent := time.Since(start); spent > 5*time.Second {
		t.Errorf("one refused connection took %s", spent)
	}
}

// The edge on top of an image that the engine has: made here, since the official
// one cannot be had everywhere.
func TestPulledBaseGivesTheLayersOfAnImage(t *testing.T) {
	t.Parallel()
	needEngine(t)
	st := store{t.TempDir()}
	layers := edgeBaseFor(t, "official haproxy")
	ref := "secondhop/base-test:" + hashOf(st.dir)[:shortHash]
	t.Cleanup(func() { _, _ = engine.Run(context.WithoutCancel(t.Context()), "image", "rm", "--force", ref) })
	if err := loadImages(t.Context(), st.dir, imageSpec{ref: ref, layers: layers}); err != nil {
		t.Fatal(err)
	}
	got, err := pulledBase(t.Context(), st, ref, Options{})
	if err != nil || len(got) != 2 {
		t.Fatalf("layers = %v, %v", got, err)
	}
	if text := contents(t, got[0])[haproxyProgram]; text != "official haproxy" {
		t.Errorf("the image's layer has %q", text)
	}
	if link := contents(t, got[1])[haproxyProgram]; link != "-> "+haproxyOfficial {
		t.Errorf("our layer has %q", link)
	}
}

func TestParseEngineItems(t *testing.T) {
	t.Parallel()
	got := parseEngineItems("secondhop/node:v1.34.4-abc\t710MB\nubuntu:24.04\t78MB\nkindest/node:v1.34.0\t1GB\n<none>:<none>\t1MB\n")
	want := []Item{{inEngine, "secondhop/node:v1.34.4-abc", "710MB"}, {inEngine, "kindest/node:v1.34.0", "1GB"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

func TestRemoveRefusesBeforeItDeletes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for name, err := range map[string]error{
		"nothing named": Remove(t.Context(), &out, false, nil),
		"both ways":     Remove(t.Context(), &out, true, []string{"x"}),
	} {
		if failure.ExitCode(err) != 3 || failure.Cure(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out.Len() != 0 {
		t.Errorf("it said %q", out.String())
	}
}

// bootTime is how long a node may take to start its services.
const bootTime = 60 * time.Second

// The image must boot under kind's entry point with containerd running and its
// images there. It is tested if it has been built; building it takes minutes.
func TestNodeImageBoots(t *testing.T) {
	t.Parallel()
	needEngine(t)
	if testing.Short() {
		t.Skip("starts a privileged container")
	}
	plan, err := planNode(t.Context(), DefaultKubernetes)
	if err != nil {
		t.Skipf("cannot tell the name of the image: %v", err)
	}
	if id, err := imageID(t.Context(), plan.ref); err != nil || id == "" {
		t.Skipf("image %s is not in the engine (%v): secondhop image build makes it", plan.ref, err)
	}
	name := "secondhop-boot-test-" + hashOf(t.TempDir())[:shortHash]
	t.Cleanup(func() { _ = engine.Remove(context.WithoutCancel(t.Context()), name) })
	_, err = engine.Run(t.Context(), "run", "--detach", "--name", name, "--hostname", "boot", "--privileged", "--network", "none",
		"--security-opt", "seccomp=unconfined", "--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var", "--cgroupns", "private", plan.ref)
	if err != nil {
		t.Fatal(err)
	}
	inside := func(ctx context.Context, argv ...string) (string, error) {
		return engine.Run(ctx, append([]string{"exec", name}, argv...)...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bootTime)
	defer cancel()
	images, err := wait.For(ctx, "containerd in the node", 200*time.Millisecond, func(ctx context.Context) (string, error) {
		return inside(ctx, "ctr", "--namespace", "k8s.io", "images", "ls", "--quiet")
	})
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := inside(ctx, "kubeadm", "config", "images", "list", "--kubernetes-version", "v"+DefaultKubernetes)
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range strings.Fields(wanted) {
		if !strings.Contains(images, image) {
			t.Errorf("kubeadm wants %s, and the node has %q", image, images)
		}
	}
	for _, argv := range [][]string{{"haproxy", "-v"}, {"nft", "--version"}, {"test", "-x", "/opt/cni/bin/ptp"}} {
		if _, err := inside(ctx, argv...); err != nil {
			t.Errorf("in the node: %v", err)
		}
	}
}
