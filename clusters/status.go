package clusters

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/clusters/links"
	"secondhop/clusters/network"
)

// NodeStatus is a node as it is now.
type NodeStatus struct {
	Node
	// State is "ready", or why the node is not.
	State    string
	Rates    links.Rates
	Counters links.Counters
}

// Status is a lab as it is now.
type Status struct {
	Name string
	// Holder is who uses it; nil when nobody does.
	Holder *Holder
	// Cluster is nil when there is no lab to attach to; Problem then says why.
	Cluster *Cluster
	Problem string
	Nodes   []NodeStatus
	// Guard says whether anything has tried to get out of the lab.
	Guard string
}

// Look reports on the lab of that name and changes nothing.
func Look(ctx context.Context, name string) (Status, error) {
	status := Status{Name: name}
	var err error
	if status.Holder, err = HolderOf(name); err != nil {
		return status, err
	}
	existing, err := network.FindLab(ctx, name)
	if err != nil {
		return status, err
	}
	if existing == nil {
		status.Problem = "is not up"
		return status, nil
	}
	cluster, err := Running(ctx, name)
	if err != nil && status.Holder != nil {
		status.Problem = "is being made or removed"
		return status, nil
	}
	if err != nil {
		return status, err
	}
	status.Cluster = cluster
	states := cluster.nodeStates(ctx)
	for _, node := range cluster.Nodes {
		status.Nodes = append(status.Nodes, nodeStatus(ctx, node, states[node.Name]))
	}
	status.Guard = guardText(ctx, name)
	return status, nil
}

func nodeStatus(ctx context.Context, node Node, state string) NodeStatus {
	status := NodeStatus{Node: node, State: state}
	if node.ControlPlane || os.Geteuid() != 0 {
		return status
	}
	link, err := links.Open(ctx, node.Name)
	if err != nil {
		status.State = err.Error()
		return status
	}
	defer link.Close()
	in, out, err := link.Filters()
	if err != nil {
		status.State = err.Error()
		return status
	}
	status.Rates = links.Rates{In: in.Rate, Out: out.Rate}
	// A link that is not shaped has nothing to count, which the rates say already.
	if counters, err := link.Counters(); err == nil {
		status.Counters = counters
	}
	return status
}

// nodeStates asks the API server; when that fails, every node's state is the failure.
func (c *Cluster) nodeStates(ctx context.Context) map[string]string {
	states := map[string]string{}
	nodes, err := c.listNodes(ctx)
	for _, node := range c.Nodes {
		states[node.Name] = "not registered"
		if err != nil {
			states[node.Name] = "unknown: " + err.Error()
		}
	}
	for _, node := range nodes {
		states[node.Name] = "ready"
		if why := nodeMiss(node); why != "" {
			states[node.Name] = "not ready: " + why
		}
	}
	return states
}

func (c *Cluster) listNodes(ctx context.Context) ([]corev1.Node, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func guardText(ctx context.Context, name string) string {
	if os.Geteuid() != 0 {
		return "unknown (takes root)"
	}
	refused, err := network.Lab(name).Guard().Refused(ctx)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("in force, %d packets refused", refused)
}

// Calibrate measures the links of all workers against the control plane, whose own
// link is not shaped.
func (c *Cluster) Calibrate(ctx context.Context, plan links.Plan) (links.Calibration, error) {
	endpoints, err := c.endpoints(ctx)
	if err != nil {
		return links.Calibration{}, err
	}
	return links.Calibrate(ctx, endpoints[0], endpoints[1:], plan)
}

func (c *Cluster) endpoints(ctx context.Context) ([]links.Endpoint, error) {
	pods, err := c.podNetwork(ctx)
	if err != nil {
		return nil, err
	}
	var endpoints []links.Endpoint
	for _, node := range pods {
		endpoints = append(endpoints, links.Endpoint{Name: node.Name, NetNS: node.Namespace(), Address: node.Address})
	}
	return endpoints, nil
}
