package clusters

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"secondhop/clusters/images"
	"secondhop/internal/command"

	"secondhop/clusters/engine"
)

// Node is one node of a lab.
type Node struct {
	// Name is that of the container and of the Kubernetes node.
	Name         string       `json:"name"`
	ControlPlane bool         `json:"controlPlane,omitempty"`
	Zone         string       `json:"zone,omitempty"`
	Address      netip.Addr   `json:"address"`
	PodCIDR      netip.Prefix `json:"podCIDR"`
	// Congestion is what TCP sends with on the node, PodCongestion in its pods.
	Congestion    string `json:"congestion"`
	PodCongestion string `json:"podCongestion"`
}

// Phase is one step of making a lab and what it took.
type Phase struct {
	Name     string        `json:"name"`
	Duration time.Duration `json:"duration"`
}

// Cluster is a lab that is up.
type Cluster struct {
	Spec  Spec   `json:"spec"`
	Nodes []Node `json:"nodes"` // the control plane first, then the workers in order
	// Kubeconfig is the path of a file for this lab alone.
	Kubeconfig string           `json:"-"`
	NodeImage  images.NodeImage `json:"nodeImage"`
	// Phases are those of the creation; reuse does not change them.
	Phases  []Phase   `json:"phases"`
	Created time.Time `json:"created"`
	// Reused says that Ensure found the lab running.
	Reused bool `json:"-"`
}

// Workers are the nodes that carry ingresses and pods, in order.
func (c *Cluster) Workers() []Node {
	var workers []Node
	for _, node := range c.Nodes {
		if !node.ControlPlane {
			workers = append(workers, node)
		}
	}
	return workers
}

// WorkerNames are the names of Workers.
func (c *Cluster) WorkerNames() []string {
	var names []string
	for _, node := range c.Workers() {
		names = append(names, node.Name)
	}
	return names
}

// ControlPlane is the node without share in the traffic.
func (c *Cluster) ControlPlane() Node { return c.Nodes[0] }

// Node finds a node by its name.
func (c *Cluster) Node(name string) (Node, bool) {
	for _, node := range c.Nodes {
		if node.Name == name {
			return node, true
		}
	}
	return Node{}, false
}

// RESTConfig is a client configuration for the lab's API server, with limits that
// do not slow a client down on its own machine.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", c.Spec.Name, err)
	}
	config.QPS, config.Burst = 200, 400
	return config, nil
}

// Exec runs a program in a node and returns its standard output.
func (c *Cluster) Exec(ctx context.Context, node string, stdin io.Reader, argv ...string) (string, error) {
	out, err := execIn(ctx, node, stdin, argv...)
	if err != nil {
		return out, fmt.Errorf("in %s: %w", node, err)
	}
	return out, nil
}

// execIn is docker exec. What it starts goes on when ctx ends: only the client of
// docker can be told to stop.
func execIn(ctx context.Context, container string, stdin io.Reader, argv ...string) (string, error) {
	args := []string{"docker", "exec"}
	if stdin != nil {
		args = append(args, "--interactive")
	}
	out, err := command.RunInput(ctx, stdin, append(append(args, container), argv...)...)
	return out, engine.Explain(err)
}
