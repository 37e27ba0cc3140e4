package process

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"secondhop/edge/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func program(t *testing.T) string {
	t.Helper()
	name := os.Getenv("SECONDHOP_HAPROXY")
	if name == "" {
		name = "haproxy"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("needs haproxy, 2.6 or later, in PATH or named by SECONDHOP_HAPROXY")
	}
	return path
}

// paths is a directory with a configuration whose only listener is a Unix socket.
func paths(t *testing.T) Paths {
	t.Helper()
	dir, err := os.MkdirTemp("", "edge") // a test's own directory can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := Paths{Program: program(t), Config: filepath.Join(dir, "cfg"), MasterSocket: filepath.Join(dir, "m"), StatsSocket: filepath.Join(dir, "s")}
	write(t, p.Config, "global\n    stats socket "+p.StatsSocket+" mode 600 level admin expose-fd listeners\n"+
		"defaults\n    mode http\n    timeout connect 1s\n    timeout client 1s\n    timeout server 1s\n"+
		"frontend f\n    bind unix@"+filepath.Join(dir, "f")+"\n    http-request return status 200\n")
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReloadReplacesTheWorkerAndStopEnds(t *testing.T) {
	t.Parallel()
	p := paths(t)
	h, err := Start(t.Context(), p, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client := runtime.Client{Socket: p.StatsSocket}
	last := 0
	for range 3 { // at once after each other: none may get lost
		now, err := client.WorkerPID(t.Context())
		if err != nil || now == last {
			t.Fatalf("worker %d, %v; before the reload it was %d", now, err, last)
		}
		last = now
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Stop(10 * time.Second); err != nil { // and so must this not
		t.Error(err)
	}
	if !strings.Contains(h.Err().Error(), "exit status 0") {
		t.Errorf("ended with %v", h.Err())
	}
}

// TestReloadThatFailsKeepsTheWorker goes around Check, which would find this.
func TestReloadThatFailsKeepsTheWorker(t *testing.T) {
	t.Parallel()
	p := paths(t)
	h, err := Start(t.Context(), p, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Kill()
	client := runtime.Client{Socket: p.StatsSocket}
	before, err := client.WorkerPID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.Config, "nonsense\n")
	start := time.Now()
	err = h.Reload(t.Context())
	if err == nil || !strings.Contains(err.Error(), "goes on") || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("Reload = %v", err)
	}
	if took := time.Since(start); took > readyLimit/2 {
		t.Errorf("noticed only after %s", took)
	}
	if after, err := client.WorkerPID(t.Context()); err != nil || after != before {
		t.Errorf("worker is %d, %v; want still %d", after, err, before)
	}
	write(t, p.Config, string(good))
	if err := h.Reload(t.Context()); err != nil {
		t.Errorf("Reload of a good one: %v", err)
	}
}

func TestStartSaysWhyNot(t *testing.T) {
	t.Parallel()
	p := paths(t)
	write(t, p.Config, "nonsense\n")
	_, err := Start(t.Context(), p, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("Start = %v", err)
	}
	p.Program = "/nowhere/haproxy"
	if _, err := Start(t.Context(), p, slog.New(slog.DiscardHandler)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v", err)
	}
}

func TestCheckNamesTheLine(t *testing.T) {
	t.Parallel()
	p := paths(t)
	if err := Check(t.Context(), p.Program, p.Config); err != nil {
		t.Errorf("a good configuration: %v", err)
	}
	text, err := os.ReadFile(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.Config, string(text)+"    use_backend nowhere if { nonsense }\n")
	err = Check(t.Context(), p.Program, p.Config)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Line != 11 || refused.Text != "use_backend nowhere if { nonsense }" {
		t.Errorf("Check = %#v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Check(ctx, p.Program, p.Config); !errors.Is(err, context.Canceled) {
		t.Errorf("Check = %v, want canceled", err)
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add("[ALERT]    (1) : config : parsing [/run/x.cfg:2] : unknown keyword 'b' in 'global' section\n", "a\nb\n")
	f.Add("[ALERT] : [x:99999999999999999999]", "")
	f.Fuzz(func(t *testing.T, output, config string) {
		e := refusal(output, config)
		if e.Line < 0 || e.Error() == "" {
			t.Errorf("%#v", e)
		}
	})
}
