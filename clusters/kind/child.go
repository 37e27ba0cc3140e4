package kind

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/exec"
	"sigs.k8s.io/kind/pkg/log"
)

// init makes any program that imports this package, the tests included, able to be
// the child of Provision: it then never gets to main.
func init() {
	name := os.Getenv(childVariable)
	if name == "" {
		return
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := child(name, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child has kind start the nodes. It does not end before every docker command that
// kind has started has ended: kind itself returns at the first failure.
func child(name string, input io.Reader, output io.Writer) error {
	var config v1alpha4.Cluster
	if err := json.NewDecoder(input).Decode(&config); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	provider := cluster.NewProvider(cluster.ProviderWithDocker(), cluster.ProviderWithLogger(logger{output}))
	err := provider.Create(name,
		cluster.CreateWithV1Alpha4Config(&config),
		cluster.CreateWithStopBeforeSettingUpKubernetes(true),
		cluster.CreateWithRetain(true),
	)
	awaitChildren()
	return sentence(err)
}

// awaitChildren returns when this process has no children left.
func awaitChildren() {
	for range time.Tick(50 * time.Millisecond) {
		lists, err := filepath.Glob("/proc/self/task/*/children")
		if err != nil {
			return
		}
		running := false
		for _, list := range lists {
			children, err := os.ReadFile(list)
			running = running || err == nil && len(children) > 0
		}
		if !running {
			return
		}
	}
}

// sentence puts what a failed command said last behind kind's own error.
func sentence(err error) error {
	failed := exec.RunErrorForError(err)
	if failed == nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(failed.Output)), "\n")
	for _, line := range lines {
		// docker run ends with a hint to its help; the reason comes before.
		if strings.Contains(line, "Error response from daemon") {
			return errors.New(line)
		}
	}
	return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}

// logger hands kind's messages on as lines; its debug levels are off.
type logger struct{ to io.Writer }

func (l logger) line(text string) { fmt.Fprintln(l.to, strings.TrimRight(text, "\n")) }

func (l logger) Warn(message string)               { l.line(message) }
func (l logger) Warnf(format string, args ...any)  { l.line(fmt.Sprintf(format, args...)) }
func (l logger) Error(message string)              { l.line(message) }
func (l logger) Errorf(format string, args ...any) { l.line(fmt.Sprintf(format, args...)) }
func (l logger) Info(message string)               { l.line(message) }
func (l logger) Infof(format string, args ...any)  { l.line(fmt.Sprintf(format, args...)) }
func (l logger) Enabled() bool                     { return true }
func (l logger) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return log.NoopInfoLogger{}
	}
	return l
}
