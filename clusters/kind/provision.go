package kind

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"secondhop/clusters/engine"
	"secondhop/internal/failure"
	"secondhop/internal/wait"
)

// childVariable tells this program, started anew, that it is to run kind: its
// value is the cluster's name.
const childVariable = "SECONDHOP_KIND_PROVISION"

// Provision starts the node containers and writes a kubeadm configuration into
// each (/kind/kubeadm.conf). What kind says goes to log.
//
// kind cannot be interrupted: it starts docker commands that know no context, and
// a docker client that is killed leaves the engine to finish what it was asked
// for, a container that turns up when nobody looks any more. So kind runs in a
// child process, in a process group of its own that a terminal's Ctrl-C does not
// reach. When ctx ends, Provision removes every container as it turns up until
// the child has ended by itself, which takes seconds; then there is none left.
func Provision(ctx context.Context, cluster Cluster, log io.Writer) error {
	child, said, err := start(cluster, log)
	if err != nil {
		return fmt.Errorf("start kind: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	select {
	case err := <-done:
		return explain(err, said.String())
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), removeUntil(context.WithoutCancel(ctx), cluster, done))
	}
}

// endLimit is how long an interrupted kind may take to end; a docker run that has
// begun takes a few seconds, and kind's wait for a node's boot at most thirty.
const endLimit = 90 * time.Second

// removeUntil removes the cluster's containers over and over until done.
func removeUntil(ctx context.Context, cluster Cluster, done <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	err := wait.Until(ctx, "kind to end", 200*time.Millisecond, func(ctx context.Context) error {
		select {
		case <-done:
			return nil
		default:
		}
		if err := Remove(ctx, cluster.Name, cluster.Network); err != nil {
			return err
		}
		return errors.New("it still runs")
	})
	return errors.Join(err, Remove(ctx, cluster.Name, cluster.Network))
}

// Remove deletes the cluster's node containers with their volumes. Containers of a
// cluster of that name on another network are somebody else's.
func Remove(ctx context.Context, name, network string) error {
	containers, err := engine.Labelled(ctx, ClusterLabel, name)
	if err != nil {
		return err
	}
	return engine.RemoveAll(ctx, engine.On(network, containers))
}

func start(cluster Cluster, log io.Writer) (*exec.Cmd, *bytes.Buffer, error) {
	input, err := json.Marshal(cluster.config())
	if err != nil {
		return nil, nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	var said bytes.Buffer
	child := exec.Command(program)
	child.Env = append(childEnvironment(os.Environ()),
		childVariable+"="+cluster.Name,
		"KIND_EXPERIMENTAL_DOCKER_NETWORK="+cluster.Network)
	child.Stdin = bytes.NewReader(input)
	child.Stdout = log
	child.Stderr = &said
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return child, &said, child.Start()
}

// childEnvironment leaves out proxies: kind would pass them on to the nodes, whose
// network has no way to any proxy. It also keeps containerd's usual snapshotter on
// engines that store images with fuse-overlayfs: kind's images would switch to one
// that they need not have, though what containerd writes is on a volume.
func childEnvironment(environment []string) []string {
	kept := make([]string, 0, len(environment)+1)
	snapshotter := "KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER=overlayfs"
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY":
			continue
		case "KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER":
			snapshotter = entry
			continue
		}
		kept = append(kept, entry)
	}
	return append(kept, snapshotter)
}

// explain turns the child's end and last words into an error with a cure.
func explain(err error, said string) error {
	if err == nil {
		return nil
	}
	said = strings.TrimSpace(said)
	switch {
	case strings.Contains(said, "unable to apply caps"), strings.Contains(said, "operation not permitted"):
		return failure.Infra(fmt.Errorf("the engine cannot start a privileged container: %s", said), "secondhop doctor --fix")
	case strings.Contains(said, "is already in use by container"), strings.Contains(said, "already exist for a cluster"):
		return failure.Infra(fmt.Errorf("a container has the name of one of the nodes: %s", said),
			"choose another name with --name, or remove that container")
	case strings.Contains(said, "address already in use"), strings.Contains(said, "port is already allocated"):
		return failure.Infra(fmt.Errorf("the port for the API server was taken meanwhile: %s", said), "run the command again")
	case strings.Contains(said, "no space left on device"):
		return failure.Infra(fmt.Errorf("the disk is full: %s", said), "free some space (docker system df shows what Docker uses), then run the command again")
	case strings.Contains(said, "Cannot connect to the Docker daemon"), strings.Contains(said, "error during connect"),
		strings.Contains(said, "failed to connect to the docker API"), strings.Contains(said, "unexpected EOF"):
		return failure.Infra(fmt.Errorf("start the nodes: %w", engine.ErrNoAnswer),
			"start it, then run secondhop down and the command again")
	case said == "":
		return fmt.Errorf("kind: %w", err)
	}
	return fmt.Errorf("kind: %s", said)
}
