package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"secondhop/internal/command"
)

// machine is what the checks look at and change: a file tree, programs and a
// user id, so that a test can stand in for each.
type machine struct {
	// root is the directory that all paths are below; "" is the real machine.
	root string
	run  func(ctx context.Context, argv ...string) (string, error)
	look func(program string) (string, error)
	euid int
	// aptUpdated says that apt's lists were refreshed in this process.
	aptUpdated bool
}

// thisMachine is the machine that the program runs on.
func thisMachine() *machine {
	return &machine{run: command.Run, look: lookPath, euid: os.Geteuid()}
}

func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

func (m *machine) isRoot() bool { return m.euid == 0 }

// read returns a small file's text without the white space around it.
func (m *machine) read(name string) (string, error) {
	text, err := os.ReadFile(m.path(name))
	return strings.TrimSpace(string(text)), err
}

func (m *machine) exists(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}

// replace writes a file in one step, so that a reader never sees half of it.
func (m *machine) replace(name string, text []byte, mode fs.FileMode) error {
	path := m.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(text)
	err = errors.Join(err, draft.Chmod(mode), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// remove deletes a file; one that is not there is fine.
func (m *machine) remove(name string) error {
	if err := os.RemoveAll(m.path(name)); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// lookPath finds a program as a root shell would: administration programs are
// often missing from the PATH of a plain user.
func lookPath(program string) (string, error) {
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/sbin")
	for _, dir := range dirs {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %s: %w", program, fs.ErrNotExist)
}
