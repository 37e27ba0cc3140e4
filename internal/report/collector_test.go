package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/measure"
	"secondhop/internal/report"
	"secondhop/internal/wait"
)

func ticking() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

func open(t *testing.T, dir string) *report.Collector {
	t.Helper()
	c, err := report.Open(dir, ticking())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func onDisk(t *testing.T, dir string) report.Result {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, report.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := report.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Everything is on disk after each call, and a second collector, as in another
// process, continues the run.
func TestCollectorContinues(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	first := open(t, dir)
	ok := measure.Equal("id", "ok", "count", 0, 0)
	share := measure.DefaultFamily().Share("share", "s", measure.Share{Hits: 29_232, N: 40_000}, .7308)
	steps := []error{
		first.Environment(report.Environment{CPUs: 2, Kernel: "6.18"}),
		first.Family(measure.DefaultFamily()),
		first.Calibration(report.Calibration{Node: "w1", Direction: "in"}),
		first.Phase("up", time.Date(2026, 12, 1, 3, 59, 0, 0, time.UTC)),
		first.Row(sample().Rows[0]),
		first.Assert("TestOne", ok, share),
		first.Artifact("a.log", "log"),
		first.Problem("nothing", nil),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	if r := onDisk(t, dir); r.Finished || r.Verdict.Passed != 2 || r.Verdict.ExitCode != 2 || r.Tests != 1 {
		t.Errorf("while it goes on: %+v, %d tests", r.Verdict, r.Tests)
	}
	second := open(t, dir)
	if err := errors.Join(
		second.Environment(report.Environment{Kernel: "6.19", Docker: "28"}),
		second.Assert("TestTwo", ok),
		second.Assert("TestOne", ok),
	); err != nil {
		t.Fatal(err)
	}
	r, err := second.Finish()
	if err != nil {
		t.Fatal(err)
	}
	e := r.Environment
	if e.CPUs != 2 || e.Kernel != "6.19" || e.Docker != "28" {
		t.Errorf("environment %+v", e)
	}
	if len(r.Groups) != 2 || len(r.Groups[0].Assertions) != 3 || len(r.Rows) != 1 || len(r.Problems) != 0 || len(r.Phases) != 1 || r.Phases[0].Seconds < 60 {
		t.Errorf("result %+v", r)
	}
	if !r.Finished || r.Verdict.ExitCode != 0 || r.Verdict.Passed != 4 {
		t.Errorf("verdict %+v", r.Verdict)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, want %s and %s: %v", len(files), report.ResultFile, report.JUnitFile, err)
	}
	if open(t, dir); onDisk(t, dir).Finished {
		t.Error("a run that is added to is still finished")
	}
}

// Additions of many collectors of one directory are all kept.
func TestCollectorConcurrent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const collectors, each = 4, 25
	var wg sync.WaitGroup
	for n := range collectors {
		c := open(t, dir)
		wg.Go(func() {
			for i := range each {
				if err := c.Assert(fmt.Sprintf("Test%d", n), measure.Equal("id", fmt.Sprint(i), "count", 0, 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if passed := onDisk(t, dir).Verdict.Passed; passed != collectors*each {
		t.Errorf("%d assertions are kept, want %d", passed, collectors*each)
	}
}

func TestCollectorProblem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	if err := c.Problem("provisioning", failure.Infra(errors.New("the engine does not answer"), "start it")); err != nil {
		t.Fatal(err)
	}
	r, err := c.Finish()
	if err != nil || r.Verdict.ExitCode != 2 || r.Problems[0].Cure != "start it" || r.Problems[0].Class != failure.Infrastructure {
		t.Errorf("%+v, %v", r, err)
	}
	junit, err := os.ReadFile(filepath.Join(dir, report.JUnitFile))
	if err != nil || !strings.Contains(string(junit), `<testcase name="provisioning" classname="Infrastructure"`) {
		t.Errorf("junit.xml without the synthetic case: %s, %v", junit, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, report.ResultFile), []byte(`{"schema":"other"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Open(dir, time.Now); failure.ExitCode(err) != 3 || failure.Cure(err) == "" {
		t.Errorf("a directory of another program: %v", err)
	}
	if _, err := report.Open(filepath.Join(dir, report.ResultFile), time.Now); failure.ExitCode(err) != 2 {
		t.Errorf("a file as directory: %v", err)
	}
}

// TestWriterProcess is not a test of its own: TestCollectorSurvivesKill runs it
// in other processes, which add assertions until they are killed.
func TestWriterProcess(t *testing.T) {
	dir := os.Getenv("REPORT_TEST_DIR")
	if dir == "" {
		t.Skip("only run by TestCollectorSurvivesKill")
	}
	c := open(t, dir)
	for i := 0; ; i++ {
		if err := c.Assert(os.Getenv("REPORT_TEST_NAME"), measure.Equal("id", fmt.Sprint(i), "count", 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

// Two processes add to one run and are killed in the middle of it: what they had
// added is whole, no lock stays behind, and the run can be continued.
func TestCollectorSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var writers []*exec.Cmd
	for _, name := range []string{"one", "two"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriterProcess$")
		cmd.Env = append(os.Environ(), "REPORT_TEST_DIR="+dir, "REPORT_TEST_NAME="+name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		writers = append(writers, cmd)
	}
	kill := func() {
		for _, cmd := range writers {
			_ = cmd.Process.Kill() // fails if it is gone already
			_ = cmd.Wait()         // says that it was killed
		}
	}
	defer kill()
	enough := func() error {
		data, err := os.ReadFile(filepath.Join(dir, report.ResultFile))
		if err != nil {
			return err
		}
		r, err := report.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("a reader saw a broken file: %v", err)
		}
		if len(r.Groups) < 2 || r.Verdict.Passed < 40 {
			return fmt.Errorf("%d assertions of %d writers so far", r.Verdict.Passed, len(r.Groups))
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := wait.Until(ctx, "two writers", 5*time.Millisecond, func(context.Context) error { return enough() }); err != nil {
		t.Fatal(err)
	}
	kill()
	before := onDisk(t, dir).Verdict.Passed
	if err := os.WriteFile(filepath.Join(dir, ".result.json.123"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%d files are left, want 2: %v", len(files), err)
	}
	if err := c.Assert("three", measure.Equal("id", "after", "count", 0, 0)); err != nil {
		t.Fatal(err)
	}
	if after := onDisk(t, dir).Verdict.Passed; after != before+1 {
		t.Errorf("%d assertions after one more than %d", after, before)
	}
}
