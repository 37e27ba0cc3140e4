package faults

import (
	"slices"

	"secondhop/clusters"
	"secondhop/fixtures/manifests"
	"secondhop/internal/deploy"
	"secondhop/internal/failure"
	"secondhop/internal/kube"
)

// Names of targets that are no workloads of a scenario.
const (
	targetApp     = "app"
	targetUsher   = "usher"
	targetIngress = "ingress"
)

func usherWorkload() kube.Workload { return kube.Workload{Kind: kube.Deployment, Name: "usher"} }

func edgeWorkload() kube.Workload { return kube.Workload{Kind: kube.DaemonSet, Name: "edge"} }

// target is what an event is done to: workloads of one namespace.
type target struct {
	name      string
	namespace string
	workloads []kube.Workload
}

// target finds what a scenario means by a name.
func (e Env) target(name string) (target, error) {
	switch name {
	case targetUsher:
		return target{name, manifests.LabNamespace, []kube.Workload{usherWorkload()}}, nil
	case targetIngress:
		return target{name, manifests.LabNamespace, []kube.Workload{edgeWorkload()}}, nil
	}
	app, err := e.app(name)
	if err != nil {
		return target{}, err
	}
	return target{app.Spec.Name, app.Spec.Namespace, app.Workloads}, nil
}

// app finds a workload of the scenario; "" and "app" are the one with the traffic.
func (e Env) app(name string) (*deploy.App, error) {
	if name == "" || name == targetApp {
		return e.App, nil
	}
	for _, app := range append([]*deploy.App{e.App}, e.Others...) {
		if app.Spec.Name == name {
			return app, nil
		}
	}
	return nil, failure.Inputf("there is no workload %s", name)
}

// workers finds workers by their numbers, from 1; no numbers are all of them.
func (e Env) workers(numbers []int) ([]clusters.Node, error) {
	all := e.Cluster.Workers()
	if len(numbers) == 0 {
		return all, nil
	}
	var chosen []clusters.Node
	for _, n := range numbers {
		if n < 1 || n > len(all) {
			return nil, failure.Inputf("there is no worker %d: the lab has %d", n, len(all))
		}
		if !slices.Contains(chosen, all[n-1]) {
			chosen = append(chosen, all[n-1])
		}
	}
	return chosen, nil
}

// workerNames are the names of workers.
func (e Env) workerNames(numbers []int) ([]string, error) {
	nodes, err := e.workers(numbers)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names, nil
}
