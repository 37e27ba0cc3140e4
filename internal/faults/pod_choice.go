package faults

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"secondhop/internal/deploy"
	"secondhop/internal/kube"
)

const (
	slotLabel    = "eqtv.io/local-slot" // that usher gives to pods
	appContainer = "app"
)

// PodChoice says which pods an event is about: live ones of a workload that meet
// everything that is set.
type PodChoice struct {
	Workload string `yaml:"workload" doc:"name of the workload; app is the one with the traffic"`
	Nodes    []int  `yaml:"nodes" doc:"numbers of the workers, from 1; none means all"`
	Slot     *int   `yaml:"slot" doc:"only holders of this slot"`
	Count    int    `yaml:"count" doc:"so many pods of each worker, by name; 0 means all"`
}

// Validate says what is wrong with the choice.
func (c PodChoice) Validate() error {
	if c.Count < 0 {
		return fmt.Errorf("count %d of pods is negative", c.Count)
	}
	return nil
}

// chosen is a choice of pods in a lab.
type chosen struct {
	client *kube.Client
	app    *deploy.App
	nodes  []string
	choice PodChoice
	stuck  bool // Terminating pods instead of live ones
	// run runs a program in a pod's container and returns what it printed.
	run func(ctx context.Context, pod string, argv ...string) (string, error)
}

// choose prepares a choice; the pods are looked up when the event happens.
func (e Env) choose(c PodChoice) (*chosen, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	app, err := e.app(c.Workload)
	if err != nil {
		return nil, err
	}
	nodes, err := e.workerNames(c.Nodes)
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, pod string, argv ...string) (string, error) {
		return e.Lab.Client.Output(ctx, app.Spec.Namespace, pod, appContainer, argv...)
	}
	return &chosen{client: e.Lab.Client, app: app, nodes: nodes, choice: c, run: run}, nil
}

// String names the choice: "pods of my-app on w1 in slot 2".
func (c *chosen) String() string {
	text := "pods of " + c.app.Spec.Name
	if c.choice.Count > 0 {
		text = fmt.Sprintf("%d %s", c.choice.Count, text)
	}
	if len(c.choice.Nodes) > 0 {
		text += " on " + strings.Join(c.nodes, ", ")
	}
	if c.choice.Slot != nil {
		text += fmt.Sprintf(" in slot %d", *c.choice.Slot)
	}
	return text
}

// all are all pods of the workload, chosen or not. A job may have pods with the
// application's label; the other one only its own pods have.
func (c *chosen) all(ctx context.Context) ([]corev1.Pod, error) {
	return c.client.Pods(ctx, c.app.Spec.Namespace, c.app.Selector()+",secondhop.io/worker")
}

// some are the chosen pods of now; that there are none is an event without effect.
func (c *chosen) some(ctx context.Context, event Event) ([]corev1.Pod, error) {
	all, err := c.all(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", event.Name(), err)
	}
	picked := c.pick(all)
	if len(picked) == 0 {
		return nil, notProvoked(event, "there is no such pod", nil)
	}
	return picked, nil
}

// pick chooses among pods that are in order.
func (c *chosen) pick(all []corev1.Pod) []corev1.Pod {
	var picked []corev1.Pod
	perNode := map[string]int{}
	for _, pod := range all {
		wanted := kube.Live(&pod)
		if c.stuck {
			wanted = pod.DeletionTimestamp != nil
		}
		switch {
		case !wanted || !slices.Contains(c.nodes, pod.Spec.NodeName):
			continue
		case c.choice.Slot != nil && pod.Labels[slotLabel] != strconv.Itoa(*c.choice.Slot):
			continue
		case c.choice.Count > 0 && perNode[pod.Spec.NodeName] == c.choice.Count:
			continue
		}
		perNode[pod.Spec.NodeName]++
		picked = append(picked, pod)
	}
	return picked
}
