// Package kubeadm turns node containers that kind has prepared into a cluster. It
// runs kubeadm init with the configuration that kind wrote, and starts the kubelets
// of the workers while the control plane still gets up.
package kubeadm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"secondhop/clusters/engine"
	"secondhop/internal/command"
	"secondhop/internal/failure"
)

// configuration is where kind has put it in every node.
const configuration = "/kind/kubeadm.conf"

// Init makes a cluster of the control plane node. What kubeadm says is kept in the
// file log.
func Init(ctx context.Context, node, log string) error {
	return run(ctx, node, log, "init", "--config", configuration, "--skip-token-print", "--v=5")
}

func run(ctx context.Context, node, log string, args ...string) (err error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return err
	}
	file, err := os.Create(log)
	if err != nil {
		return err
	}
	defer file.Close()
	var said bytes.Buffer
	// Standard error goes into the same stream, since kubeadm says there why it failed.
	argv := append([]string{"docker", "exec", node, "sh", "-c", `exec kubeadm "$@" 2>&1`, "kubeadm"}, args...)
	err = command.Stream(ctx, nil, io.MultiWriter(file, &said), argv...)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("kubeadm %s on %s: %w", args[0], node, context.Cause(ctx))
	}
	if explained := engine.Explain(err); explained != err {
		return fmt.Errorf("kubeadm %s on %s: %w", args[0], node, explained)
	}
	return failure.Infra(fmt.Errorf("kubeadm %s on %s failed: %s (%w)", args[0], node, reason(said.String()), err),
		"run the command again; if it fails again, read kubeadm.log among the logs that were kept")
}

// reason finds the line in which kubeadm says what went wrong among its debugging
// output, which ends with a stack trace.
func reason(output string) string {
	best := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "error execution phase"), strings.HasPrefix(line, "error:"), strings.HasPrefix(line, "Error"):
			return line
		case line != "" && !strings.HasPrefix(line, "/") && !strings.Contains(line, ".go:"):
			best = line
		}
	}
	return best
}
