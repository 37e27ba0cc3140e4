package doctor

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// changeHostVariable allows the test that changes the machine's engine.
const changeHostVariable = "SECONDHOP_TEST_HOST"

func TestKernelFeaturesAreThere(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	for _, f := range kernelFeatures() {
		if err := inScratchNamespace(f.try); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

func TestScratchNamespaceGivesTheErrorBack(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	refused := errors.New("refused")
	if err := inScratchNamespace(func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("error = %v", err)
	}
	// Two bridges of one name need two namespaces.
	for range 2 {
		if err := inScratchNamespace(tryBridge); err != nil {
			t.Error(err)
		}
	}
}

// The wrapper is installed into the real engine and taken out again; the
// configuration must come back to the byte, and containers must start in both
// states just as they did before.
func TestWrapperRoundTripOnThisMachine(t *testing.T) {
	if os.Getenv(changeHostVariable) == "" {
		t.Skipf("it changes the Docker engine's configuration for a moment: set %s=1 with no lab running", changeHostVariable)
	}
	m := thisMachine()
	if m.wrapperInstalled() {
		t.Skip("the wrapper is in use: secondhop doctor --undo first")
	}
	before, err := os.ReadFile(daemonJSONPath)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	bare := m.probePrivileged(t.Context())
	if err := m.installWrapper(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.probePrivileged(t.Context()); err != nil {
		t.Errorf("with the wrapper: %v", err)
	}
	if err := m.undo(t.Context(), &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(daemonJSONPath)
	if err != nil && before != nil || !bytes.Equal(before, after) {
		t.Errorf("the configuration was %q and is %q (%v)", before, after, err)
	}
	if again := m.probePrivileged(t.Context()); (again == nil) != (bare == nil) {
		t.Errorf("without the wrapper: %v before and %v after", bare, again)
	}
	if m.exists(capdropPath) || m.exists(daemonJSONBackup) {
		t.Error("files of the wrapper are still there")
	}
}
