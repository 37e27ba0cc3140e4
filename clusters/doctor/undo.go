package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"secondhop/internal/failure"
)

// Undo takes back what earlier repairs changed on this machine, and prints one
// line for each thing. Packages stay; their names are printed.
func Undo(ctx context.Context, out io.Writer) error { return thisMachine().undo(ctx, out) }

func (m *machine) undo(ctx context.Context, out io.Writer) error {
	done, err := m.loadChanges()
	if err != nil {
		return err
	}
	wrapper := m.wrapperInstalled()
	if done.empty() && !wrapper {
		fmt.Fprintln(out, "nothing to undo: doctor has changed nothing on this machine")
		return nil
	}
	if !m.isRoot() {
		return fmt.Errorf("undo: %w", errNotRoot)
	}
	var failures []error
	say := func(name, text string, err error) {
		status := "undone"
		if err != nil {
			status, text = "failed", err.Error()
			failures = append(failures, fmt.Errorf("undo %s: %w", name, err))
		}
		fmt.Fprintf(out, "%-8s %-22s %s\n", status, name, text)
	}
	if wrapper {
		say("privileged containers", "the engine has its former configuration and default runtime", m.undoWrapper(ctx))
	}
	for _, path := range slices.Sorted(maps.Keys(done.Sysctl)) {
		value := done.Sysctl[path]
		err := os.WriteFile(m.path(path), []byte(value+"\n"), 0o644)
		say("kernel setting", fmt.Sprintf("%s = %s", sysctlName(path), value), err)
	}
	if len(done.Packages) > 0 {
		fmt.Fprintf(out, "%-8s %-22s remove by hand what nothing else needs: apt-get remove %s\n", "kept", "packages", strings.Join(done.Packages, " "))
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return m.remove(filepath.Dir(statePath))
}

// undoWrapper removes the wrapper unless a container depends on it.
func (m *machine) undoWrapper(ctx context.Context) error {
	users, err := m.wrapperUsers(ctx)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return failure.Infra(fmt.Errorf("%d containers were started through the runtime wrapper and need it: %s", len(users), strings.Join(users, ", ")),
			"secondhop down, or docker rm -f with their names; then again")
	}
	return m.removeWrapper(ctx)
}

// sysctlName writes /proc/sys/a/b as a.b.
func sysctlName(path string) string {
	return strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
}
