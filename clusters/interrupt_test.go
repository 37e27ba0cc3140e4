package clusters

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"secondhop/clusters/network"
	"secondhop/internal/command"
)

// TestInterruptedUpLeavesNothing starts `secondhop up` again and again, presses
// Ctrl-C twice at another instant each time, and compares the machine with what it
// was before. It needs root, Docker, a node image, and that no lab is up; it takes
// some minutes, so it runs when SECONDHOP_LAB_TESTS has "interrupt" in it.
func TestInterruptedUpLeavesNothing(t *testing.T) {
	if !strings.Contains(os.Getenv("SECONDHOP_LAB_TESTS"), "interrupt") {
		t.Skip("takes minutes and the whole machine; SECONDHOP_LAB_TESTS=interrupt runs it")
	}
	const name = "secondhop"
	if existing, err := network.FindLab(t.Context(), name); err != nil || existing != nil {
		t.Skipf("a lab is up (%v)", err)
	}
	binary := filepath.Join(t.TempDir(), "secondhop")
	if _, err := command.Run(t.Context(), "go", "build", "-o", binary, "secondhop/cmd/secondhop"); err != nil {
		t.Fatal(err)
	}
	before := footprint(t)
	for _, text := range instants() {
		instant, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(text, func(t *testing.T) {
			said := interruptUp(t, binary, instant)
			after := footprint(t)
			for _, line := range after {
				if !slices.Contains(before, line) {
					t.Errorf("left behind: %s", line)
				}
			}
			for _, line := range before {
				if !slices.Contains(after, line) {
					t.Errorf("taken away: %s", line)
				}
			}
			if t.Failed() {
				t.Logf("it said:\n%s", said)
			}
		})
	}
}

func instants() []string {
	if list := os.Getenv("SECONDHOP_LAB_INSTANTS"); list != "" {
		return strings.Fields(list)
	}
	return strings.Fields("20ms 150ms 400ms 700ms 1s 1500ms 2s 3s 5s 8s 12s 16s 22s 30s 40s")
}

// interruptUp runs up in a process group of its own, as a shell would, and sends
// SIGINT to the group after the instant and again while it cleans up.
func interruptUp(t *testing.T, binary string, instant time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	up := exec.CommandContext(ctx, binary, "up")
	var said strings.Builder
	up.Stdout, up.Stderr = &said, &said
	up.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- up.Wait() }()
	interrupts := []<-chan time.Time{time.After(instant), time.After(instant + 300*time.Millisecond), time.After(instant + 2*time.Second)}
	for _, interrupt := range interrupts {
		select {
		case <-interrupt:
			if err := syscall.Kill(-up.Process.Pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		case err := <-ended:
			ended <- err
		}
	}
	err := <-ended
	if strings.Contains(said.String(), "is up: export") {
		t.Skipf("it was up before %s; removing it", instant)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 && exit.ExitCode() != -1 {
		t.Errorf("it ended with %v, want exit code 2", err)
	}
	// A lab that failed by itself would prove nothing; before the first line the
	// program may not have got to its signal handler.
	if words := said.String(); words != "" && !strings.Contains(words, "interrupted") && !strings.Contains(words, "canceled") {
		t.Errorf("it was not the interrupt that ended it:\n%s", words)
	}
	return said.String()
}

// footprint lists everything on the machine that a lab could leave behind.
func footprint(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, argv := range [][]string{
		{"docker", "ps", "--all", "--format", "container {{.Names}}"},
		{"docker", "network", "ls", "--format", "network {{.Name}}"},
		{"docker", "volume", "ls", "--format", "volume {{.Name}}"},
		{"sh", "-c", "ls /sys/class/net | sed 's/^/device /'"},
		{"sh", "-c", "iptables -S 2>/dev/null | sed 's/^/rule /'"},
		{"sh", "-c", "iptables -t nat -S 2>/dev/null | sed 's/^/nat rule /'"},
		{"sh", "-c", "ip route show table all | sed 's/^/route /'"},
		{"sh", "-c", "ip netns list | sed 's/^/namespace /'"},
		{"sh", "-c", "ls /run/secondhop 2>/dev/null | sed 's/^/file /'"},
		{"sh", "-c", "sed 's/^/allowed /' /proc/sys/net/ipv4/tcp_allowed_congestion_control"},
		{"sh", "-c", "ps -eo args | grep -E '^docker (run|exec|logs)' | sed 's/^/process /'"},
	} {
		out, err := command.Run(t.Context(), argv...)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(out), "\n")...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
