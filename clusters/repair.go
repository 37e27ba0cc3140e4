package clusters

import (
	"context"
	"errors"
	"fmt"

	"secondhop/clusters/cni"
	"secondhop/clusters/engine"
	"secondhop/clusters/links"
)

// Restore gives a node that was stopped and started again what it lost with its
// network namespace: routes to the other nodes' pods, settings, and the shaping of
// its link.
func (c *Cluster) Restore(ctx context.Context, node string) error {
	pods, err := c.podNetwork(ctx)
	if err != nil {
		return fmt.Errorf("restore %s: %w", node, err)
	}
	for i, member := range pods {
		if member.Name != node {
			continue
		}
		if _, err := cni.Install(member, pods); err != nil {
			return err
		}
		if err := cni.InstallOnHost(pods); err != nil {
			return err
		}
		if c.Nodes[i].ControlPlane {
			return nil
		}
		return links.Shape(ctx, links.Both(c.Spec.Link), node)
	}
	return fmt.Errorf("restore %s: lab %s has no such node", node, c.Spec.Name)
}

// podNetwork is the lab's nodes as the pod network sees them now.
func (c *Cluster) podNetwork(ctx context.Context) ([]cni.Node, error) {
	pods := make([]cni.Node, len(c.Nodes))
	for i, node := range c.Nodes {
		container, err := engine.Inspect(ctx, node.Name)
		if err != nil {
			return nil, err
		}
		pods[i] = cni.Node{Name: node.Name, Address: node.Address, Pods: node.PodCIDR, Pid: container.Pid}
	}
	return pods, nil
}

// joinf joins what of the errors is one, under one subject.
func joinf(subject string, errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return nil
}
