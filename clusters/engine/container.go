package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"secondhop/internal/failure"
)

// Container is what the lab needs to know about one container.
type Container struct {
	Name, ID string
	Labels   map[string]string
	Running  bool
	// Status is the engine's word for the state, ExitCode that of a stopped one.
	Status   string
	ExitCode int
	// Pid is the first process as the host sees it; 0 when not running.
	Pid int
	// Networks are the names of the networks that it belongs to, running or not;
	// Addresses holds the IPv4 address that it has on each.
	Networks  []string
	Addresses map[string]netip.Addr
	// Ports maps "6443/tcp" to the host address it is published at.
	Ports map[string]string
	// Volumes are the names of the volumes, anonymous ones included.
	Volumes []string
}

type containerJSON struct {
	ID     string `json:"Id"`
	Name   string
	Config struct{ Labels map[string]string }
	State  struct {
		Status        string
		Running       bool
		Pid, ExitCode int
	}
	Mounts          []struct{ Type, Name string }
	NetworkSettings struct {
		Networks map[string]struct{ IPAddress string }
		Ports    map[string][]struct{ HostIp, HostPort string }
	}
}

func (c containerJSON) container() Container {
	result := Container{
		Name: strings.TrimPrefix(c.Name, "/"), ID: c.ID, Labels: c.Config.Labels,
		Running: c.State.Running, Status: c.State.Status, ExitCode: c.State.ExitCode, Pid: c.State.Pid,
		Addresses: map[string]netip.Addr{}, Ports: map[string]string{},
	}
	for name, network := range c.NetworkSettings.Networks {
		result.Networks = append(result.Networks, name)
		if address, err := netip.ParseAddr(network.IPAddress); err == nil {
			result.Addresses[name] = address
		}
	}
	for port, bindings := range c.NetworkSettings.Ports {
		if len(bindings) > 0 {
			result.Ports[port] = bindings[0].HostIp + ":" + bindings[0].HostPort
		}
	}
	for _, mount := range c.Mounts {
		if mount.Type == "volume" {
			result.Volumes = append(result.Volumes, mount.Name)
		}
	}
	return result
}

// Inspect reads one container.
func Inspect(ctx context.Context, name string) (Container, error) {
	var raw containerJSON
	if err := inspect(ctx, "container", name, &raw); err != nil {
		return Container{}, fmt.Errorf("inspect container %s: %w", name, err)
	}
	return raw.container(), nil
}

// Labelled returns the containers that carry key=value, stopped ones included,
// in no particular order. Containers that vanish meanwhile are left out.
func Labelled(ctx context.Context, key, value string) ([]Container, error) {
	ids, err := Run(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+key+"="+value)
	if err != nil {
		return nil, fmt.Errorf("list containers of %s=%s: %w", key, value, err)
	}
	fields := strings.Fields(ids)
	if len(fields) == 0 {
		return nil, nil
	}
	out, err := Run(ctx, append([]string{"container", "inspect"}, fields...)...)
	if err != nil && !Absent(err) {
		return nil, fmt.Errorf("inspect containers of %s=%s: %w", key, value, err)
	}
	var raw []containerJSON
	if err := json.Unmarshal([]byte(out), &raw); err != nil {
		return nil, fmt.Errorf("read docker container inspect: %w", err)
	}
	containers := make([]Container, len(raw))
	for i := range raw {
		containers[i] = raw[i].container()
	}
	return containers, nil
}

// On keeps those of the containers that belong to a network.
func On(network string, containers []Container) []Container {
	var members []Container
	for _, container := range containers {
		if slices.Contains(container.Networks, network) {
			members = append(members, container)
		}
	}
	return members
}

// RemoveAll is Remove for containers that were listed before.
func RemoveAll(ctx context.Context, containers []Container) error {
	var ids []string
	for _, container := range containers {
		ids = append(ids, container.ID)
	}
	return Remove(ctx, ids...)
}

// Pid is the process id of a running container's first process.
func Pid(ctx context.Context, name string) (int, error) {
	container, err := Inspect(ctx, name)
	if err != nil {
		return 0, err
	}
	if !container.Running || container.Pid == 0 {
		return 0, failure.Infra(fmt.Errorf("container %s is not running (%s, exit code %d)",
			name, container.Status, container.ExitCode), "docker logs "+name+" says why; secondhop up --recreate makes a new lab")
	}
	return container.Pid, nil
}

// Remove ends containers at once and deletes them with their anonymous volumes.
// Those that are not there any more are no failure.
func Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := Run(ctx, append([]string{"rm", "--force", "--volumes"}, names...)...)
	if err != nil && !Absent(err) {
		return fmt.Errorf("remove containers %s: %w", strings.Join(names, ", "), err)
	}
	return nil
}
