// Package engine talks to the Docker engine through its command line client, and
// turns its failures into sentences with a cure.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"secondhop/internal/command"
	"secondhop/internal/failure"
)

// LabLabel marks every container and network of a lab with the lab's name.
const LabLabel = "io.secondhop.lab"

// ErrNoAnswer says that the engine does not answer: it is not there, or has stopped.
var ErrNoAnswer = errors.New("the Docker engine does not answer")

// Run runs one docker command and returns its standard output. An engine that is
// missing or does not answer is an infrastructure failure with its cure.
func Run(ctx context.Context, args ...string) (string, error) {
	out, err := command.Run(ctx, append([]string{"docker"}, args...)...)
	return out, Explain(err)
}

// Explain gives errors of the docker client that say that there is no engine
// their class and cure; others it returns as they are.
func Explain(err error) error {
	var failed *command.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return failure.Infra(errors.New("the docker command is not installed"), "secondhop doctor --fix")
	case errors.As(err, &failed) && unreachable(failed.Output):
		return failure.Infra(ErrNoAnswer,
			"start it (systemctl start docker, or service docker start), then run the command again; secondhop doctor says more")
	}
	return err
}

func unreachable(output string) bool {
	for _, said := range []string{
		"Cannot connect to the Docker daemon", "failed to connect to the docker API",
		"error during connect", "connection refused", "unexpected EOF",
		"permission denied while trying to connect",
	} {
		if strings.Contains(output, said) {
			return true
		}
	}
	return false
}

// Absent says whether err is the engine's word that the named thing does not exist.
func Absent(err error) bool {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return false
	}
	said := strings.ToLower(failed.Output)
	return strings.Contains(said, "no such") || strings.Contains(said, "not found")
}

// Answers is nil when the engine is there and usable.
func Answers(ctx context.Context) error {
	_, err := Run(ctx, "version", "--format", "{{.Server.Version}}")
	if err != nil {
		return fmt.Errorf("ask Docker for its version: %w", err)
	}
	return nil
}

// StorageDriver is the engine's storage driver, such as overlay2 or fuse-overlayfs.
func StorageDriver(ctx context.Context) (string, error) {
	out, err := Run(ctx, "info", "--format", "{{.Driver}}")
	return strings.TrimSpace(out), err
}

// inspect decodes one docker inspect answer of the given kind into into.
func inspect(ctx context.Context, kind, name string, into any) error {
	out, err := Run(ctx, kind, "inspect", "--format", "{{json .}}", name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Errorf("read docker %s inspect %s: %w", kind, name, err)
	}
	return nil
}
