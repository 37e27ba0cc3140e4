package observe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// NodeChange is a node in a new state, as the API server has it.
type NodeChange struct {
	At       time.Time `json:"at"`
	Node     string    `json:"node"`
	Exists   bool      `json:"exists"`
	Ready    bool      `json:"ready"`
	Cordoned bool      `json:"cordoned,omitempty"`
	Zone     string    `json:"zone,omitempty"`
}

// NodeReport is how the nodes went. Changes begin with the state of every node.
type NodeReport struct {
	Coverage
	Changes []NodeChange `json:"changes"`
}

// NodeWatcher follows the nodes of the cluster.
type NodeWatcher struct {
	follower *follower[*corev1.Node]
	tracker  *nodeTracker
}

// WatchNodes begins to follow the nodes.
func WatchNodes(ctx context.Context, client kubernetes.Interface) (*NodeWatcher, error) {
	api := client.CoreV1().Nodes()
	from := source[*corev1.Node]{
		subject: "nodes",
		list: func(ctx context.Context, opts metav1.ListOptions) ([]*corev1.Node, string, error) {
			list, err := api.List(ctx, opts)
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.ResourceVersion, nil
		},
		watch: api.Watch,
	}
	tracker := &nodeTracker{last: map[string]NodeChange{}}
	f, err := follow(ctx, from, tracker)
	if err != nil {
		return nil, err
	}
	return &NodeWatcher{f, tracker}, nil
}

// Finish ends the watch. A node reports on itself all the time, so that there is no
// last change to wait for.
func (w *NodeWatcher) Finish(ctx context.Context) (NodeReport, error) {
	err := w.follower.abandon(ctx)
	return NodeReport{w.follower.coverage, w.tracker.changes}, err
}

// nodeTracker keeps what matters of nodes. Its follower calls it one at a time.
type nodeTracker struct {
	last    map[string]NodeChange
	changes []NodeChange
}

func (t *nodeTracker) reset(at time.Time, nodes []*corev1.Node) {
	exists := map[string]bool{}
	for _, node := range nodes {
		exists[node.Name] = true
		t.note(stateOf(at, node))
	}
	for name, last := range t.last {
		if !exists[name] && last.Exists {
			t.note(NodeChange{At: at, Node: name})
		}
	}
}

func (t *nodeTracker) change(at time.Time, kind watch.EventType, node *corev1.Node) {
	if kind == watch.Deleted {
		t.note(NodeChange{At: at, Node: node.Name})
		return
	}
	t.note(stateOf(at, node))
}

// note adds a state that differs from the last one in more than its time.
func (t *nodeTracker) note(now NodeChange) {
	before, known := t.last[now.Node]
	before.At = now.At
	if known && before == now {
		return
	}
	t.last[now.Node] = now
	t.changes = append(t.changes, now)
}

func stateOf(at time.Time, node *corev1.Node) NodeChange {
	state := NodeChange{
		At: at, Node: node.Name, Exists: true,
		Cordoned: node.Spec.Unschedulable, Zone: node.Labels[corev1.LabelTopologyZone],
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			state.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	return state
}
