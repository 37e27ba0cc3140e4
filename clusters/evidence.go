package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"secondhop/clusters/engine"
)

// evidenceLimit is how long a failed creation may look into its nodes before they
// are removed.
const evidenceLimit = 30 * time.Second

// keepEvidence saves why a lab could not be made before its nodes and files go: the
// output of every step, what the control plane's kubelet said, and its containers.
// It returns the directory, which the next failure of a lab of that name replaces.
func (m *maker) keepEvidence(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "secondhop", "failed-up", m.spec.Name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(m.state.log("any")))); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), evidenceLimit)
	defer cancel()
	control := m.spec.nodeName(0)
	if container, err := engine.Inspect(ctx, control); err != nil || !container.Running {
		return dir, nil // there is nothing to look into
	}
	for name, argv := range map[string][]string{
		"kubelet.log":    {"journalctl", "--no-pager", "--unit", "kubelet", "--lines", "2000"},
		"containerd.log": {"journalctl", "--no-pager", "--unit", "containerd", "--lines", "2000"},
		"containers.txt": {"ctr", "--namespace", "k8s.io", "tasks", "ls"},
	} {
		command := append([]string{"docker", "exec", control}, argv...)
		if err := capture(ctx, filepath.Join(dir, name), command...); err != nil {
			m.say("  %v", err) // what is missing is worth less than the error itself
		}
	}
	return dir, nil
}

// explain says where the evidence of a failure is.
func (m *maker) explain(ctx context.Context, err error) error {
	dir, keepErr := m.keepEvidence(ctx)
	if keepErr != nil {
		return errors.Join(err, fmt.Errorf("keep the logs: %w", keepErr))
	}
	m.say("what the nodes said is kept in %s", dir)
	return err
}
