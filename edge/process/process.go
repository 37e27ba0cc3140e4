// Package process runs HAProxy in master-worker mode as a child: start, check of a
// configuration, reload and stop.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"secondhop/edge/haproxy"
	"secondhop/edge/runtime"
	"secondhop/internal/wait"
)

// Paths are the files that HAProxy is started with.
type Paths struct {
	Program      string // the haproxy binary
	Config       string
	MasterSocket string
	StatsSocket  string
}

// HAProxy is a running master and its workers.
type HAProxy struct {
	paths   Paths
	cmd     *exec.Cmd
	done    chan struct{} // closed when the master has ended; then err is set
	err     error
	said    lastLines
	readers sync.WaitGroup
}

const (
	// readyLimit is how long a worker may take until it answers on its socket.
	readyLimit = 15 * time.Second
	pollPeriod = 10 * time.Millisecond
)

// Start starts HAProxy and waits until its worker serves. What HAProxy says goes to log.
func Start(ctx context.Context, paths Paths, log *slog.Logger) (*HAProxy, error) {
	h := &HAProxy{paths: paths, done: make(chan struct{})}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start haproxy: %w", err)
	}
	h.cmd = exec.Command(paths.Program, "-W", "-S", paths.MasterSocket+",mode,600", "-f", paths.Config)
	h.cmd.Stdout, h.cmd.Stderr = in, in
	// A terminal's Ctrl-C must reach edge only: it stops HAProxy in its own order.
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = h.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start haproxy: %w", err)
	}
	h.readers.Go(func() { h.listen(out, log) })
	go h.reap()
	if err := h.serving(ctx, haproxy.Worker{}); err != nil {
		h.Kill()
		return nil, fmt.Errorf("start haproxy: %w%s", err, h.said.alert())
	}
	return h, nil
}

func (h *HAProxy) reap() {
	err := h.cmd.Wait()
	// The master outlives its workers unless it died; what is left then is of no use.
	_ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL)
	h.readers.Wait()
	if err == nil {
		err = errors.New("exit status 0")
	}
	h.err = fmt.Errorf("haproxy ended: %w", err)
	close(h.done)
}

// listen passes HAProxy's lines on until all of its processes have ended.
func (h *HAProxy) listen(out io.ReadCloser, log *slog.Logger) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		h.said.add(lines.Text())
		log.Info(lines.Text(), "from", "haproxy")
	}
}

// Done is closed when the master has ended, and Err then says how.
func (h *HAProxy) Done() <-chan struct{} { return h.done }

// Err is how the master ended; call it after Done is closed.
func (h *HAProxy) Err() error { return h.err }

// serving waits until a worker other than former answers on the runtime socket
// and the master has it as the present one. The second matters because the master
// replaces its own program during a reload, and a signal that meets it then is lost.
func (h *HAProxy) serving(ctx context.Context, former haproxy.Worker) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	worker, master := runtime.Client{Socket: h.paths.StatsSocket}, runtime.Client{Socket: h.paths.MasterSocket}
	var final error
	err := wait.Until(ctx, "a haproxy worker that serves", pollPeriod, func(ctx context.Context) error {
		select {
		case <-h.done: // no use in waiting on
			final = h.err
			cancel()
			return h.err
		default:
		}
		present, err := master.Worker(ctx)
		if err != nil {
			return err
		}
		if present.PID == former.PID {
			if present.Reloads > former.Reloads {
				final = fmt.Errorf("the new worker did not start, worker %d goes on", former.PID)
				cancel()
			}
			return fmt.Errorf("worker %d is still the present one", former.PID)
		}
		pid, err := worker.WorkerPID(ctx)
		if err == nil && pid != present.PID {
			err = fmt.Errorf("worker %d answers, %d is the present one", pid, present.PID)
		}
		return err
	})
	if final != nil {
		return final
	}
	return err
}

// Reload has the master start a new worker on the configuration file and returns
// when it serves; the former worker then only finishes what it has begun. When
// the new one cannot start, the former goes on.
func (h *HAProxy) Reload(ctx context.Context) error {
	former, err := runtime.Client{Socket: h.paths.MasterSocket}.Worker(ctx)
	if err != nil {
		return fmt.Errorf("reload haproxy: %w", err)
	}
	h.said.clear()
	if err := h.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return fmt.Errorf("reload haproxy: %w", err)
	}
	// From here on there is no way back: to stop in the middle would be to send the
	// master a signal when it cannot take one.
	if err := h.serving(context.WithoutCancel(ctx), former); err != nil {
		return fmt.Errorf("reload haproxy: %w%s", err, h.said.alert())
	}
	return nil
}

// Stop lets HAProxy finish the requests that it has and end; after limit it is killed.
func (h *HAProxy) Stop(limit time.Duration) error {
	if err := h.cmd.Process.Signal(syscall.SIGUSR1); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.Kill()
		return fmt.Errorf("stop haproxy: %w", err)
	}
	select {
	case <-h.done:
		return nil
	case <-time.After(limit):
		h.Kill()
		return fmt.Errorf("stop haproxy: still busy after %s, killed", limit)
	}
}

// Signal sends a signal to the master.
func (h *HAProxy) Signal(s os.Signal) error { return h.cmd.Process.Signal(s) }

// Kill ends HAProxy and its workers at once.
func (h *HAProxy) Kill() {
	_ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL) // it may have ended already
	<-h.done
}

// lastLines keeps what HAProxy said last, for errors.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lastLines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const kept = 20
	l.lines = append(l.lines, line)
	if len(l.lines) > kept {
		l.lines = l.lines[1:]
	}
}

func (l *lastLines) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = nil
}

// alert is the first alert that is kept, to be put behind an error, or "": the
// ones after it follow from it.
func (l *lastLines) alert() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.HasPrefix(line, "[ALERT]") {
			return ": " + line
		}
	}
	return ""
}
