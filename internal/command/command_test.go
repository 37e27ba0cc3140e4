package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunReturnsOutput(t *testing.T) {
	t.Parallel()
	got, err := Run(t.Context(), "sh", "-c", "echo out; echo err >&2")
	if got != "out\n" || err != nil {
		t.Fatalf("Run = %q, %v", got, err)
	}
}

func TestErrorSaysLastLineAndCommand(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), "sh", "-c", "echo 'no such disk' >&2; exit 4")
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("error = %v", err)
	}
	if want := "sh: no such disk (exit status 4)"; err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
	if !strings.Contains(failed.CommandLine(), `'echo '`) {
		t.Errorf("command line = %s", failed.CommandLine())
	}
}

func TestErrorSkipsHintsAtHelp(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), "sh", "-c", `printf "docker: no such image\n\nRun 'docker run --help' for more information\n" >&2; exit 125`)
	if want := "sh: docker: no such image (exit status 125)"; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %q", err, want)
	}
}

func TestErrorNamesTheProgramBehindEnv(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), "env", "A=1", "B=2", "sh", "-c", "echo no >&2; exit 1")
	if err == nil || err.Error() != "sh: no (exit status 1)" {
		t.Errorf("error = %v", err)
	}
}

func TestCancelEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Run(ctx, "sh", "-c", "sleep 60 & wait")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
	if spent := time.Since(start); spent > 10*time.Second {
		t.Errorf("took %s", spent)
	}
}
