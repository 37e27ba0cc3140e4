package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// kubeletGroups are the control groups that kubelet wants to find: kind has it keep
// all pods below /kubelet, which is /kubelet.slice for systemd.
func kubeletGroups() []string { return []string{"kubelet", "kubelet.slice"} }

// PrepareGroups makes kubelet's control groups in every hierarchy of cgroup v1 that
// a node sees. kind's entrypoint makes them in those that Docker has handed to the
// container; systemd then mounts what else the kernel has, such as hugetlb where
// something on the host has brought that to life, and kubelet does not start when
// its group is missing there. On cgroup v2 there is nothing to do.
func PrepareGroups(pid int) error {
	root := fmt.Sprintf("/proc/%d/root/sys/fs/cgroup", pid)
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return nil
	}
	return makeGroups(root)
}

func makeGroups(root string) error {
	hierarchies, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("control groups of a node: %w", err)
	}
	for _, hierarchy := range hierarchies {
		// Links such as "cpu,cpuacct" lead to hierarchies that have their own entry;
		// "unified" is the one of v2, which systemd looks after.
		if !hierarchy.IsDir() || hierarchy.Name() == "unified" {
			continue
		}
		for _, group := range kubeletGroups() {
			err := os.Mkdir(filepath.Join(root, hierarchy.Name(), group), 0o755)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("control groups of a node: %w", err)
			}
		}
	}
	return nil
}
