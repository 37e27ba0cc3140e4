package envtest

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopLimit is how long a process may take to end after SIGTERM.
const stopLimit = 15 * time.Second

// process is a program that runs until the test ends.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // valid after done

	mu     sync.Mutex
	output bytes.Buffer
}

// start runs a program. It dies with the test process, however that ends: the
// kernel sends the parent-death signal when the thread that started the program
// ends, so one goroutine keeps its thread to itself until the program is gone.
func start(t testing.TB, path string, arguments ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(path), cmd: exec.Command(path, arguments...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	t.Cleanup(func() { p.stop(t) })
	return p
}

func (p *process) stop(t testing.TB) {
	p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended, which is what is wanted
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		p.cmd.Process.Kill()
		<-p.done
	}
	if t.Failed() {
		t.Logf("end of %s's output:\n%s", p.name, p.said())
	}
}

// alive is an error when the program has ended.
func (p *process) alive() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %w", p.name, p.err)
	default:
		return nil
	}
}

// outputLimit bounds what is kept of the output.
const outputLimit = 8 << 10

// Write keeps the end of the output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output.Write(b)
	if excess := p.output.Len() - outputLimit; excess > 0 {
		p.output.Next(excess)
	}
	return len(b), nil
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}
