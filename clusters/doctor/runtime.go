package doctor

import (
	"archive/tar"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"secondhop/internal/command"
	"secondhop/internal/wait"
)

//go:embed capdrop/main.go capdrop/oci.go
var capdropSource embed.FS

// Where the wrapper and the engine's configuration are on the machine.
const (
	capdropPath      = "/usr/local/libexec/secondhop/capdrop"
	daemonJSONPath   = "/etc/docker/daemon.json"
	daemonJSONBackup = "/etc/docker/daemon.json.before-secondhop"
	enginePIDPath    = "/var/run/docker.pid"
	probeImage       = "secondhop/probe:doctor"
	engineReloadTime = 20 * time.Second
	probeTime        = 60 * time.Second
)

// buildCapdrop compiles the wrapper, static, from the source in this program.
func (m *machine) buildCapdrop(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "secondhop-capdrop-")
	if err != nil {
		return nil, fmt.Errorf("build the runtime wrapper: %w", err)
	}
	defer os.RemoveAll(dir)
	err = fs.WalkDir(capdropSource, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := capdropSource.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o600)
	})
	module := "module capdrop\n\ngo 1.24\n"
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600))
	if err != nil {
		return nil, fmt.Errorf("build the runtime wrapper: %w", err)
	}
	out := filepath.Join(dir, "capdrop.bin")
	_, err = m.run(ctx, "env", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"go", "build", "-C", dir, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	if err != nil {
		return nil, fmt.Errorf("build the runtime wrapper: %w", err)
	}
	return os.ReadFile(out)
}

// probePrivileged starts one privileged container from an image that holds
// nothing but the wrapper, whose probe argument ends at once. Nothing stays.
func (m *machine) probePrivileged(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	binary, err := m.buildCapdrop(ctx)
	if err != nil {
		return err
	}
	image := probeImage + "-" + strconv.Itoa(os.Getpid())
	if _, err := command.RunInput(ctx, singleFileTar("capdrop", binary), "docker", "import", "-", image); err != nil {
		return fmt.Errorf("make the probe image: %w", err)
	}
	defer func() {
		tidy := context.WithoutCancel(ctx)
		_, removal := m.run(tidy, "docker", "rmi", "-f", image)
		err = errors.Join(err, removal)
	}()
	name := fmt.Sprintf("secondhop-probe-%d", os.Getpid())
	defer func() { _, _ = m.run(context.WithoutCancel(ctx), "docker", "rm", "-f", name) }()
	_, err = m.run(ctx, "docker", "run", "--rm", "--name", name, "--network", "none", "--privileged", image, "/capdrop", "probe")
	return err
}

func singleFileTar(name string, content []byte) *bytes.Buffer {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	// Writes to a buffer fail only when the header is at fault, which is ours.
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		panic(err)
	}
	_, _ = w.Write(content)
	_ = w.Close()
	return &archive
}

// installWrapper registers the wrapper with the engine, without restarting it,
// and keeps the configuration that was there.
func (m *machine) installWrapper(ctx context.Context) error {
	if !m.isRoot() {
		return errNotRoot
	}
	binary, err := m.buildCapdrop(ctx)
	if err != nil {
		return err
	}
	before, err := os.ReadFile(m.path(daemonJSONPath))
	existed := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the engine's configuration: %w", err)
	}
	after, err := addRuntime(before, capdropPath)
	if err != nil {
		return err
	}
	if err := m.replace(capdropPath, binary, 0o755); err != nil {
		return err
	}
	if existed && !m.exists(daemonJSONBackup) {
		if err := m.replace(daemonJSONBackup, before, 0o644); err != nil {
			return err
		}
	}
	if err := m.replace(daemonJSONPath, after, 0o644); err != nil {
		return err
	}
	return m.reloadEngine(ctx, runtimeName)
}

// removeWrapper takes installWrapper back. The engine keeps a default runtime
// that its file no longer names, so it is first told to go back to the old one.
func (m *machine) removeWrapper(ctx context.Context) error {
	current, err := os.ReadFile(m.path(daemonJSONPath))
	if err != nil {
		return fmt.Errorf("read the engine's configuration: %w", err)
	}
	before, err := os.ReadFile(m.path(daemonJSONBackup))
	existed := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the engine's former configuration: %w", err)
	}
	after, err := removeRuntime(current, before)
	if err != nil {
		return err
	}
	former, bridge, err := explicitDefault(after)
	if err != nil {
		return err
	}
	if err := m.replace(daemonJSONPath, bridge, 0o644); err != nil {
		return err
	}
	reloaded := m.reloadEngine(ctx, former)
	if len(after) == 0 && !existed {
		err = m.remove(daemonJSONPath)
	} else {
		err = m.replace(daemonJSONPath, after, 0o644)
	}
	return errors.Join(reloaded, err, m.remove(daemonJSONBackup), m.remove(filepath.Dir(capdropPath)))
}

// wrapperInstalled says whether the engine's configuration names our runtime,
// whoever put it there.
func (m *machine) wrapperInstalled() bool {
	text, err := os.ReadFile(m.path(daemonJSONPath))
	if err != nil {
		return false
	}
	_, runtimes, err := parseDaemonJSON(text)
	return err == nil && runtimes[runtimeName] != nil
}

// wrapperUsers names the containers that were started through the wrapper: they
// could be neither entered nor stopped properly without it.
func (m *machine) wrapperUsers(ctx context.Context) ([]string, error) {
	ids, err := m.run(ctx, "docker", "ps", "--all", "--quiet", "--no-trunc")
	if err != nil || strings.TrimSpace(ids) == "" {
		return nil, err
	}
	argv := append([]string{"docker", "inspect", "--format", "{{.HostConfig.Runtime}} {{.Name}}"}, strings.Fields(ids)...)
	text, err := m.run(ctx, argv...)
	var names []string
	for line := range strings.Lines(text) {
		if name, ours := strings.CutPrefix(strings.TrimSpace(line), runtimeName+" /"); ours {
			names = append(names, name)
		}
	}
	return names, err
}

// reloadEngine makes the engine read its configuration again and waits until
// its default runtime is the wanted one.
func (m *machine) reloadEngine(ctx context.Context, want string) error {
	text, err := m.read(enginePIDPath)
	if err != nil {
		return fmt.Errorf("reload the Docker engine: find its process: %w", err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 1 {
		return fmt.Errorf("reload the Docker engine: %s holds %q, not a process id", enginePIDPath, text)
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		return fmt.Errorf("reload the Docker engine: signal process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, engineReloadTime)
	defer cancel()
	return wait.Until(ctx, "the Docker engine to change its default runtime", 100*time.Millisecond, func(ctx context.Context) error {
		got, err := m.run(ctx, "docker", "info", "--format", "{{.DefaultRuntime}}")
		if err == nil && strings.TrimSpace(got) != want {
			err = fmt.Errorf("it is %q, not %q", strings.TrimSpace(got), want)
		}
		return err
	})
}
