package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/clusters/engine"
	"secondhop/internal/wait"
)

// NodePoweroff are the parameters of node_poweroff.
type NodePoweroff struct {
	Nodes []int `yaml:"nodes" doc:"numbers of the workers, from 1; there must be one"`
}

// Validate says what is wrong with the parameters.
func (p NodePoweroff) Validate() error {
	if len(p.Nodes) == 0 {
		return errors.New("nodes: name the workers that lose power")
	}
	return nil
}

func nodePoweroffKind() Kind {
	return newKind("node_poweroff", "Kills workers at once; undone, they boot again and get back their routes and shaped links.", NodePoweroff{},
		func(env Env, p NodePoweroff) (Event, error) {
			nodes, err := env.workerNames(p.Nodes)
			if err != nil {
				return nil, err
			}
			return &poweroff{env: env, nodes: nodes}, nil
		})
}

type poweroff struct {
	env     Env
	nodes   []string
	applied time.Time
	off     []string
}

func (p *poweroff) Name() string { return "power loss of " + strings.Join(p.nodes, ", ") }

func (p *poweroff) Apply(ctx context.Context) error {
	p.applied = time.Now()
	for _, node := range p.nodes {
		p.off = append(p.off, node)
		if _, err := engine.Run(ctx, "kill", node); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
	}
	return nil
}

// Confirm looks whether the nodes' containers run.
func (p *poweroff) Confirm(ctx context.Context) (Outcome, error) {
	for _, node := range p.nodes {
		container, err := engine.Inspect(ctx, node)
		if err != nil {
			return Outcome{}, fmt.Errorf("confirm the %s: %w", p.Name(), err)
		}
		if container.Running {
			return Outcome{}, notProvoked(p, node+" runs", nil)
		}
	}
	return Outcome{p.applied, time.Now(), fmt.Sprintf("%d nodes are off", len(p.nodes))}, nil
}

// Undo boots the nodes and waits until Kubernetes has them back.
func (p *poweroff) Undo(ctx context.Context) error {
	var failures []error
	for _, node := range p.off {
		if _, err := engine.Run(ctx, "start", node); err != nil {
			failures = append(failures, fmt.Errorf("boot %s: %w", node, err))
			continue
		}
		failures = append(failures, p.env.Cluster.Restore(ctx, node), p.ready(ctx, node))
	}
	return errors.Join(failures...)
}

// ready waits until a node has reported since it was booted that it is ready.
func (p *poweroff) ready(ctx context.Context, name string) error {
	booted := time.Now()
	return wait.Until(ctx, "node "+name+" to be ready again", podPeriod, func(ctx context.Context) error {
		node, err := p.env.Lab.Client.Typed.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type != corev1.NodeReady {
				continue
			}
			if condition.Status == corev1.ConditionTrue && condition.LastHeartbeatTime.After(booted.Add(-time.Second)) {
				return nil
			}
			return fmt.Errorf("it is not: %s", condition.Message)
		}
		return errors.New("it has reported no state")
	})
}
