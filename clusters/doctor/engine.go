package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"secondhop/internal/wait"
)

// Time limits of starting and asking the engine.
const (
	engineAskTime   = 15 * time.Second
	engineStartTime = 60 * time.Second
)

// engineLog is where an engine that doctor starts by hand writes.
const engineLog = "/var/log/secondhop-dockerd.log"

func (m *machine) engineCheck() Check {
	return Check{Name: "Docker engine", Look: m.lookEngine, Fix: m.fixEngine}
}

func (m *machine) lookEngine(ctx context.Context) Finding {
	if _, err := m.look("docker"); err != nil {
		return Finding{Problem: "the docker command is not installed", Cure: m.installCure("docker.io")}
	}
	ctx, cancel := context.WithTimeout(ctx, engineAskTime)
	defer cancel()
	out, err := m.run(ctx, "docker", "info", "--format", "{{.ServerVersion}} {{.Driver}} {{.CgroupDriver}}")
	if words := strings.Fields(out); err == nil && len(words) == 3 {
		return Finding{Detail: fmt.Sprintf("version %s, storage %s, cgroup driver %s", words[0], words[1], words[2])}
	}
	if err == nil {
		err = errors.New("no server behind the client")
	}
	if strings.Contains(err.Error(), "permission denied") {
		return Finding{Problem: "the Docker engine may not be used by this user", Cure: "run it as root, or add the user to the group docker and log in again"}
	}
	return Finding{Problem: "the Docker engine does not answer: " + err.Error(), Cure: m.startCure()}
}

func (m *machine) hasSystemd() bool { return m.exists("/run/systemd/system") }

func (m *machine) startCure() string {
	if m.hasSystemd() {
		return "systemctl start docker"
	}
	return "service docker start"
}

// fixEngine installs the engine if it is not there and starts it.
func (m *machine) fixEngine(ctx context.Context) error {
	if !m.isRoot() {
		return errNotRoot
	}
	_, noClient := m.look("docker")
	_, noServer := m.look("dockerd")
	if noClient != nil || noServer != nil {
		if err := m.install(ctx, m.enginePackages(ctx)...); err != nil {
			return err
		}
	}
	var failures []error
	for _, start := range m.engineStarts() {
		if err := start(ctx); err != nil {
			failures = append(failures, err)
			continue
		}
		waiting, cancel := context.WithTimeout(ctx, engineStartTime)
		err := wait.Until(waiting, "the Docker engine to answer", 500*time.Millisecond, func(ctx context.Context) error {
			_, err := m.run(ctx, "docker", "version", "--format", "{{.Server.Version}}")
			return err
		})
		cancel()
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// enginePackages are Debian's packages of engine and client, which newer
// releases have apart.
func (m *machine) enginePackages(ctx context.Context) []string {
	packages := []string{"docker.io", "iptables"}
	if _, err := m.run(ctx, "apt-cache", "show", "docker-cli"); err == nil {
		packages = append(packages, "docker-cli")
	}
	return packages
}

// engineStarts are the ways to start the engine, the proper one first.
func (m *machine) engineStarts() []func(context.Context) error {
	command := func(argv ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := m.run(ctx, argv...)
			return err
		}
	}
	if m.hasSystemd() {
		return []func(context.Context) error{command("systemctl", "start", "docker")}
	}
	return []func(context.Context) error{command("service", "docker", "start"), m.startByHand}
}

// startByHand runs the engine in a session of its own, so that it outlives us.
func (m *machine) startByHand(context.Context) error {
	path, err := m.look("dockerd")
	if err != nil {
		return err
	}
	log, err := os.OpenFile(m.path(engineLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("start the Docker engine: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(path)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the Docker engine: %w", err)
	}
	return cmd.Process.Release()
}

// privilegedCheck tries what every node of the lab is: a privileged container.
func (m *machine) privilegedCheck() Check {
	return Check{Name: "privileged containers", Fix: m.fixPrivileged, Look: func(ctx context.Context) Finding {
		if err := m.probePrivileged(ctx); err != nil {
			return Finding{Problem: "none starts: " + err.Error(), Cure: "secondhop doctor --fix (as root, where the engine runs)"}
		}
		if m.wrapperInstalled() {
			return Finding{Detail: "start, through the runtime wrapper " + capdropPath + " (doctor --undo removes it)"}
		}
		return Finding{Detail: "start"}
	}}
}

// fixPrivileged installs the wrapper, and removes it again if it does not help.
func (m *machine) fixPrivileged(ctx context.Context) error {
	if _, err := m.look("docker"); err != nil {
		return errors.New("there is no engine to repair")
	}
	if err := m.installWrapper(ctx); err != nil {
		if m.wrapperInstalled() {
			err = errors.Join(err, m.removeWrapper(context.WithoutCancel(ctx)))
		}
		return err
	}
	if err := m.probePrivileged(ctx); err != nil {
		return errors.Join(fmt.Errorf("the runtime wrapper does not help: %w", err), m.removeWrapper(context.WithoutCancel(ctx)))
	}
	return nil
}
