package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"secondhop/internal/command"
)

// CollectLogs writes what helps to understand a failed run into dir, a directory
// per node: container state, journal, logs of all pods, and the cluster's objects
// as the API server has them. It collects what it can; the error says what it
// could not.
func (c *Cluster) CollectLogs(ctx context.Context, dir string) error {
	var (
		mu       sync.Mutex
		failures []error
		wg       sync.WaitGroup
	)
	keep := func(path string, argv ...string) {
		if err := capture(ctx, filepath.Join(dir, path), argv...); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failures = append(failures, err)
		}
	}
	for _, node := range c.Nodes {
		wg.Go(func() {
			keep(node.Name+"/inspect.json", "docker", "inspect", node.Name)
			keep(node.Name+"/boot.log", "docker", "logs", node.Name)
			keep(node.Name+"/journal.log", "docker", "exec", node.Name, "journalctl", "--no-pager")
			keep(node.Name+"/pods.tar", "docker", "exec", node.Name, "tar", "-C", "/var/log", "-cf", "-", "pods", "containers")
			keep(node.Name+"/links.txt", "docker", "exec", node.Name, "ip", "-s", "address")
		})
	}
	wg.Go(func() {
		keep("cluster/nodes.yaml", kubectl(c, "get", "nodes", "-o", "yaml")...)
		keep("cluster/objects.yaml", kubectl(c, "get", "pods,services,endpointslices,ingresses,daemonsets,deployments", "-A", "-o", "yaml")...)
		keep("cluster/events.txt", kubectl(c, "get", "events", "-A", "--sort-by", ".lastTimestamp")...)
	})
	wg.Wait()
	return errors.Join(failures...)
}

// kubectl is a command line for the kubectl that every control plane node has.
func kubectl(c *Cluster, args ...string) []string {
	argv := []string{"docker", "exec", c.ControlPlane().Name, "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"}
	return append(argv, args...)
}

func capture(ctx context.Context, path string, argv ...string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(command.Stream(ctx, nil, file, argv...), file.Close()); err != nil {
		return fmt.Errorf("collect %s: %w", filepath.Base(path), err)
	}
	return nil
}
