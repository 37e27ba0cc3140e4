package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"secondhop/clusters/cni"
	"secondhop/clusters/engine"
	"secondhop/internal/failure"
	"secondhop/internal/wait"
)

// bootLimit is how long a node may take from its first process to containerd.
const bootLimit = 3 * time.Minute

// awaitBoot waits until systemd and containerd of every node are up: kind returns
// before that on cgroup v1, and kubeadm then starts a kubelet that nobody manages.
func (m *maker) awaitBoot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range m.pods {
		group.Go(func() error {
			err := wait.Until(ctx, node.Name+" to boot", poll, func(context.Context) error { return m.waiting(booted(node)) })
			if err != nil {
				return failure.Infra(err, "run the command again when the machine is less busy")
			}
			return hideCgroups(ctx, node)
		})
	}
	return group.Wait()
}

func booted(node cni.Node) error {
	for _, socket := range []string{"run/systemd/private", "run/containerd/containerd.sock"} {
		_, err := os.Stat(filepath.Join(fmt.Sprintf("/proc/%d/root", node.Pid), socket))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%s has no /%s yet", node.Name, socket)
		case err != nil:
			return err
		}
	}
	return nil
}

// hideCgroups unmounts in a node the cgroup v1 hierarchies of which kind's boot
// script knows nothing. Such a hierarchy exists on the host without being mounted
// there, left by another container's systemd; the node's systemd mounts it, and the
// kubelet then refuses to start because its own cgroup is not in it.
func hideCgroups(ctx context.Context, node cni.Node) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", node.Pid))
	if err != nil {
		return err
	}
	root := fmt.Sprintf("/proc/%d/root", node.Pid)
	for _, mount := range cgroupMounts(string(text)) {
		if _, err := os.Stat(filepath.Join(root, mount, "kubelet")); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if _, err := engine.Run(ctx, "exec", node.Name, "umount", mount); err != nil {
			return fmt.Errorf("hide cgroup hierarchy %s from %s: %w", mount, node.Name, err)
		}
	}
	return nil
}

// cgroupMounts finds where cgroup v1 hierarchies are mounted, from lines such as
// "36 35 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids". On hosts with
// cgroup v2 there are none.
func cgroupMounts(mountinfo string) []string {
	var mounts []string
	for line := range strings.Lines(mountinfo) {
		place, kind, found := strings.Cut(line, " - ")
		fields := strings.Fields(place)
		if !found || len(fields) < 5 || !strings.HasPrefix(kind, "cgroup ") {
			continue
		}
		if filepath.Dir(fields[4]) == "/sys/fs/cgroup" {
			mounts = append(mounts, fields[4])
		}
	}
	return mounts
}
