package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"secondhop/clusters/cni"
	"secondhop/clusters/engine"
	"secondhop/clusters/images"
	"secondhop/clusters/kind"
	"secondhop/clusters/network"
	"secondhop/internal/cleanup"
	"secondhop/internal/failure"
)

// zoneLabel is Kubernetes' own label for the zone of a node.
const zoneLabel = "topology.kubernetes.io/zone"

// Labels of the lab's network, from which the lab can be known without its files.
const (
	specLabel  = "io.secondhop.spec"
	hashLabel  = "io.secondhop.spec-hash"
	imageLabel = "io.secondhop.node-image"
)

func describeInLabels(spec Spec, image images.NodeImage) (map[string]string, error) {
	specText, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	imageText, err := json.Marshal(image)
	if err != nil {
		return nil, err
	}
	return map[string]string{specLabel: string(specText), hashLabel: spec.Hash(), imageLabel: string(imageText)}, nil
}

// pushLabUndo pushes everything that undoes a lab, in the order in which the lab is
// made: what runs last takes the guard away, when nothing is left to guard.
func pushLabUndo(stack *cleanup.Stack, name string, files state) {
	lab := network.Lab(name)
	stack.Push("the lab's files", func(context.Context) error { return files.remove() })
	stack.Push("the host's list of congestion controls", func(context.Context) error {
		return cni.RestoreCongestionControl(files.congestion())
	})
	stack.Push("the route that stops lab traffic", network.RemoveStopGap)
	stack.Push("the rule that guards the network", lab.Guard().Remove)
	stack.Push("network "+name, lab.Remove)
	stack.Push("containers of lab "+name, func(ctx context.Context) error { return removeContainers(ctx, name) })
}

// removeContainers deletes nodes and clients with their volumes; the ends of their
// links, and the filters on these, go with them.
func removeContainers(ctx context.Context, name string) error {
	clients, err := engine.Labelled(ctx, engine.LabLabel, name)
	if err != nil {
		return err
	}
	return errors.Join(engine.RemoveAll(ctx, clients), kind.Remove(ctx, name, name))
}

// deadNode says which node of the lab does not run, if any, and how it ended.
func deadNode(ctx context.Context, name string) error {
	containers, err := engine.Labelled(ctx, kind.ClusterLabel, name)
	if err != nil {
		return err
	}
	for _, container := range engine.On(name, containers) {
		if container.Running {
			continue
		}
		cause := fmt.Errorf("node %s does not run (%s, exit code %d)", container.Name, container.Status, container.ExitCode)
		const killed = 137 // 128 + SIGKILL, by a person or by the kernel for want of memory
		if container.ExitCode == killed {
			return failure.Infra(cause, "it was killed: see that there is enough memory, then make the lab anew with secondhop up --recreate")
		}
		return failure.Infra(cause, "docker logs "+container.Name+" says why; make the lab anew with secondhop up --recreate")
	}
	return nil
}
