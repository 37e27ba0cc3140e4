// Package command runs other programs and keeps enough of each to explain a
// failure: the command line as it can be pasted, and what it wrote.
package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// killDelay is how long a program that was asked to end may take.
const killDelay = 3 * time.Second

// Error is a program that could not be started or did not exit with 0.
type Error struct {
	Argv   []string
	Output string // the last of standard output and standard error
	Err    error
}

// Error names the program, what it said last and how it ended, on one line.
func (e *Error) Error() string {
	if said := lastLine(e.Output); said != "" {
		return fmt.Sprintf("%s: %s (%v)", program(e.Argv), said, e.Err)
	}
	return fmt.Sprintf("%s: %v", shellescape.QuoteCommand(e.Argv), e.Err)
}

// program is the program that argv is about: env only passes it variables.
func program(argv []string) string {
	if argv[0] != "env" {
		return argv[0]
	}
	for _, arg := range argv[1:] {
		if !strings.Contains(arg, "=") {
			return arg
		}
	}
	return argv[0]
}

// Unwrap gives the exec error.
func (e *Error) Unwrap() error { return e.Err }

// CommandLine is the command as it can be pasted into a shell.
func (e *Error) CommandLine() string { return shellescape.QuoteCommand(e.Argv) }

// Run runs argv to its end and returns its standard output.
func Run(ctx context.Context, argv ...string) (string, error) {
	var stdout bytes.Buffer
	err := Stream(ctx, nil, &stdout, argv...)
	return stdout.String(), err
}

// RunInput is Run with text as standard input.
func RunInput(ctx context.Context, input io.Reader, argv ...string) (string, error) {
	var stdout bytes.Buffer
	err := Stream(ctx, input, &stdout, argv...)
	return stdout.String(), err
}

// Stream runs argv with stdin and stdout connected; standard error is kept for
// the error. When ctx ends, the whole process group is told to end, then killed:
// a program's own children are ours as well.
func Stream(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
	var said tail
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = stdin
	cmd.Stdout = io.MultiWriter(stdout, &said)
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killDelay
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return &Error{Argv: argv, Output: said.String(), Err: err}
	}
	return nil
}

// tailLimit bounds what is kept of a program's output for its error.
const tailLimit = 16 << 10

// tail keeps the last bytes written to it; both output streams write at once.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if excess := len(t.kept) - tailLimit; excess > 0 {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// lastLine is the last line that says what went wrong: programs that end with a
// hint at their own help have said it before.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line != "" && !(strings.HasPrefix(line, "Run '") && strings.Contains(line, "--help'")) {
			return line
		}
	}
	return ""
}
