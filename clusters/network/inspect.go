package network

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"secondhop/clusters/engine"
)

// Inspect reads the Docker network of that name; nil when there is none.
func Inspect(ctx context.Context, name string) (*Existing, error) {
	out, err := engine.Run(ctx, "network", "inspect", "--format", "{{json .}}", name)
	switch {
	case engine.Absent(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("inspect network %s: %w", name, err)
	}
	return parseNetwork(out)
}

func parseNetwork(text string) (*Existing, error) {
	var raw struct {
		ID         string `json:"Id"`
		Labels     map[string]string
		IPAM       struct{ Config []struct{ Subnet string } }
		Containers map[string]struct{ Name string }
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("read docker network inspect: %w", err)
	}
	existing := &Existing{ID: raw.ID, Labels: raw.Labels}
	for _, config := range raw.IPAM.Config {
		if prefix, err := netip.ParsePrefix(config.Subnet); err == nil {
			existing.Subnets = append(existing.Subnets, prefix)
		}
	}
	for _, container := range raw.Containers {
		existing.Containers = append(existing.Containers, container.Name)
	}
	return existing, nil
}

// FindLab reads the network of the lab of that name; nil when there is none. A
// network of that name that no lab made is an error.
func FindLab(ctx context.Context, name string) (*Existing, error) {
	existing, err := Inspect(ctx, name)
	if err != nil || existing == nil {
		return nil, err
	}
	if existing.Labels[engine.LabLabel] != name {
		return nil, nameInUse(name)
	}
	return existing, nil
}

// Remove deletes the lab's Docker network if it is there. Its containers must be
// gone; other people's networks are left alone.
func (n Network) Remove(ctx context.Context) error {
	existing, err := FindLab(ctx, n.Name)
	if err != nil || existing == nil {
		return err
	}
	if _, err := engine.Run(ctx, "network", "rm", existing.ID); err != nil && !engine.Absent(err) {
		return fmt.Errorf("remove network %s: %w", n.Name, err)
	}
	return nil
}
