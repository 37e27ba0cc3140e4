package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"secondhop/loadgen"
)

// asProgram makes the test binary be loadgen itself.
const asProgram = "LOADGEN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// program starts loadgen as a process of its own and returns its output.
func program(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func firstLine(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	require.True(t, lines.Scan(), "the program says something")
	return lines.Text()
}

func writePlan(t *testing.T, plan loadgen.Plan) string {
	t.Helper()
	text, err := plan.JSON()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestRunEndsCleanlyOnSIGTERM(t *testing.T) {
	t.Parallel()
	_, serverLines := program(t, "bench-server")
	plan := loadgen.Plan{
		Targets: []loadgen.Target{{Node: "w1", Address: firstLine(t, serverLines)}},
		Rate:    100, Duration: loadgen.Duration(time.Minute), Host: "bench",
	}
	out := t.TempDir()
	run, lines := program(t, "run", "--plan", writePlan(t, plan), "--out", out)
	var last loadgen.Status
	for lines.Scan() {
		require.NoError(t, json.Unmarshal(lines.Bytes(), &last))
		if last.Done > 0 && last.State == "running" { // the load has begun
			require.NoError(t, run.Process.Signal(syscall.SIGTERM))
		}
	}
	require.NoError(t, run.Wait(), "exit code 0")
	assert.Equal(t, "interrupted", last.State)
	summary, err := loadgen.ReadSummary(filepath.Join(out, loadgen.SummaryFile))
	require.NoError(t, err)
	assert.True(t, summary.Interrupted)
	assert.Equal(t, last.Done, summary.Requests)
	assert.Equal(t, map[string]uint64{"ok": summary.Requests}, summary.ByClass)
}

func TestRealtimeRunSaysWhetherItWas(t *testing.T) {
	t.Parallel()
	_, serverLines := program(t, "bench-server")
	plan := loadgen.Plan{
		Targets: []loadgen.Target{{Node: "w1", Address: firstLine(t, serverLines)}},
		Rate:    100, Duration: loadgen.Duration(100 * time.Millisecond), Host: "bench",
	}
	for _, args := range [][]string{{"--realtime"}, nil} {
		out := t.TempDir()
		cmd := exec.Command(os.Args[0], append([]string{"run", "--plan", writePlan(t, plan), "--out", out}, args...)...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		var notes strings.Builder
		cmd.Stderr = &notes
		require.NoError(t, cmd.Run(), "not being allowed to is no failure")
		summary, err := loadgen.ReadSummary(filepath.Join(out, loadgen.SummaryFile))
		require.NoError(t, err)
		refused := strings.Contains(notes.String(), "the run goes on without")
		assert.Equal(t, args != nil && !refused, summary.Host.Realtime, notes.String())
	}
}

func TestFloodIntoSink(t *testing.T) {
	t.Parallel()
	_, sinkLines := program(t, "sink")
	_, lines := program(t, "flood", "--to", firstLine(t, sinkLines), "--rate", "2mbit", "--duration", "300ms")
	result := ""
	for lines.Scan() {
		result = lines.Text()
	}
	assert.Contains(t, result, `"bytes":7`, "75,000 bytes less at most one segment: %s", result)
}

func TestBadInputIsExitCode3(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("{}"), 0o600))
	for name, args := range map[string][]string{
		"unknown command": {"walk"},
		"unknown flag":    {"run", "--plam", "x"},
		"missing flags":   {"run"},
		"surplus words":   {"sink", "now"},
		"no plan":         {"run", "--plan", "/does/not/exist", "--out", t.TempDir()},
		"empty plan":      {"run", "--plan", empty, "--out", t.TempDir()},
		"rate":            {"flood", "--to", "127.0.0.1:1", "--rate", "1gb", "--duration", "1s"},
		"foreign address": {"flood", "--to", "10.0.0.1:1", "--rate", "1mbit", "--duration", "1s"},
		"answer size":     {"bench-server", "--size", "-1"},
		"listen address":  {"sink", "--listen", "127.0.0.1:99999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			assert.Equal(t, 3, execute(ctx, args))
		})
	}
}

func TestPlanFromStandardInput(t *testing.T) {
	t.Parallel()
	plan, err := readPlan("-", strings.NewReader(`{"targets":[{"node":"w1","address":"127.0.0.1:1"}],"rate":1,"duration":"1s","host":"h"}`))
	require.NoError(t, err)
	assert.Equal(t, "w1", plan.Targets[0].Node)
}
