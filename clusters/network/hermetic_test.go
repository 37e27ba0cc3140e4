package network

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"secondhop/clusters/engine"
	"secondhop/clusters/netns"
	"secondhop/internal/command"
)

// TestNothingGetsOut makes a network as a lab has it, with a container on it, and
// proves that the guard holds, that the proof sees a guard that does not, and that
// nothing of all this is left.
func TestNothingGetsOut(t *testing.T) {
	insider, lab := startInsider(t)
	guard := lab.Guard()

	if _, err := guard.Refused(t.Context()); err == nil {
		t.Error("Refused works before there is a rule")
	}
	// The negative control: without the guard the same attempt gets out.
	must(t, guard.Install(t.Context()))
	must(t, guard.Install(t.Context()))
	attempts, err := lab.Prove(t.Context(), insider)
	must(t, err)
	t.Logf("with the guard: %v after %s", attempts[0].Err, attempts[0].Took)
	must(t, guard.Remove(t.Context()))
	if _, err := guard.Refused(t.Context()); err == nil {
		t.Error("two installs left a rule after one removal")
	}
	attempts, err = lab.proveUnguarded(t.Context(), insider)
	if err == nil || attempts[0].Err != nil || !strings.Contains(err.Error(), "reached an address outside") {
		t.Errorf("without the guard: %v, %v; the proof cannot fail", attempts, err)
	}
	if _, err := os.Stat("/run/netns/" + outsideName); err == nil {
		t.Error("the stand-in for the outside is still there")
	}
}

// proveUnguarded is Prove without the counter, which needs the rule.
func (n Network) proveUnguarded(ctx context.Context, insider Insider) ([]Attempt, error) {
	var attempts []Attempt
	err := withOutside(ctx, func(world outside) error {
		attempts = append(attempts, world.dialFrom(ctx, insider))
		return judge(attempts, 1)
	})
	return attempts, err
}

func TestCreateNamesWhatIsInTheWay(t *testing.T) {
	_, lab := startInsider(t)
	err := lab.Create(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exists that is no lab") {
		t.Errorf("the same name twice: %v", err)
	}
	other := lab
	other.Name, other.Bridge = "secondhop-test-other", "br-sh-test2"
	err = other.Create(t.Context())
	if err == nil || !strings.Contains(err.Error(), "in use by Docker network "+lab.Name) {
		t.Errorf("the same addresses twice: %v", err)
		must(t, other.Remove(t.Context()))
	}
}

func TestStopGapComesAndGoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to set routes")
	}
	if _, err := os.Stat("/sys/class/net/br-secondhop"); err == nil {
		t.Skip("a lab is running, which needs the route")
	}
	t.Cleanup(func() { must(t, RemoveStopGap(context.Background())) })
	must(t, InstallStopGap(t.Context()))
	must(t, InstallStopGap(t.Context()))
	out, err := command.Run(t.Context(), "ip", "route", "get", "198.19.1.1")
	if err == nil || !strings.Contains(err.Error(), "No route to host") {
		t.Errorf("the host would send lab traffic out: %s, %v", out, err)
	}
	must(t, RemoveStopGap(t.Context()))
	must(t, RemoveStopGap(t.Context()))
}

// startInsider makes a lab-like network, with addresses of its own so that a lab
// may run meanwhile, and a container on it that does nothing.
func startInsider(t *testing.T) (Insider, Network) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for iptables and network namespaces")
	}
	if err := engine.Answers(t.Context()); err != nil {
		t.Skipf("needs a Docker engine: %v", err)
	}
	const name = "secondhop-test-net"
	lab := Network{
		Name: name, Bridge: "br-sh-test", Labels: map[string]string{engine.LabLabel: name},
		Subnet: netip.MustParsePrefix("198.18.250.0/24"), Gateway: netip.MustParseAddr("198.18.250.1"),
		Nodes: netip.MustParsePrefix("198.18.250.0/25"),
	}
	image := idleImage(t)
	ctx := context.Background()
	t.Cleanup(func() {
		must(t, engine.Remove(ctx, name))
		must(t, lab.Remove(ctx))
		must(t, lab.Guard().Remove(ctx))
	})
	must(t, lab.Create(t.Context()))
	_, err := engine.Run(t.Context(), "run", "--detach", "--name", name, "--network", name, image)
	must(t, err)
	path, err := netns.Path(t.Context(), name)
	must(t, err)
	return Insider{name, path}, lab
}

// idleImage puts an image of one static program into the engine.
func idleImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "idle"), "./testdata/idle")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the idle program: %v\n%s", err, out)
	}
	archive := filepath.Join(dir, "idle.tar")
	_, err := command.Run(t.Context(), "tar", "-C", dir, "-cf", archive, "idle")
	must(t, err)
	const image = "secondhop-test/idle:1"
	_, err = engine.Run(t.Context(), "import", "--change", `ENTRYPOINT ["/idle"]`, archive, image)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := engine.Run(ctx, "image", "rm", image); err != nil && !engine.Absent(err) {
			t.Error(err)
		}
	})
	return image
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
