package faults

import (
	"context"
	"errors"
	"fmt"

	"secondhop/internal/kube"
)

// Pacing is how much of a target is replaced at a time.
type Pacing string

// The paces of a roll-out.
const (
	Together   Pacing = "together"     // every workload at once, each as its strategy says
	NodeByNode Pacing = "node-by-node" // one workload after the other, each as its strategy says
	OneByOne   Pacing = "one-by-one"   // a pod at a time: gone before the next one starts
)

// Rollout are the parameters of rollout.
type Rollout struct {
	Target         string `yaml:"target" doc:"what is replaced: app, usher, ingress or the name of a workload"`
	Pacing         Pacing `yaml:"pacing" doc:"together, node-by-node (one workload after the other), or one-by-one: each pod is gone before the next one starts"`
	MaxSurge       *int   `yaml:"maxSurge" doc:"pods of each workload above its number, meanwhile"`
	MaxUnavailable *int   `yaml:"maxUnavailable" doc:"pods of each workload below its number, meanwhile"`
}

// Validate says what is wrong with the parameters.
func (p Rollout) Validate() error {
	pacing := string(p.Pacing)
	if err := oneOf("pacing", &pacing, string(Together), string(NodeByNode), string(OneByOne)); err != nil {
		return err
	}
	none := func(n *int) bool { return n != nil && *n == 0 }
	negative := func(n *int) bool { return n != nil && *n < 0 }
	switch {
	case p.Pacing == OneByOne && (p.MaxSurge != nil || p.MaxUnavailable != nil):
		return errors.New("one-by-one says what maxSurge and maxUnavailable are")
	case none(p.MaxSurge) && none(p.MaxUnavailable):
		return errors.New("maxSurge and maxUnavailable cannot both be 0")
	case negative(p.MaxSurge) || negative(p.MaxUnavailable):
		return errors.New("maxSurge and maxUnavailable cannot be negative")
	}
	return nil
}

// rolling is how the parameters want workloads to roll.
func (p Rollout) rolling() rolling {
	if p.Pacing == OneByOne {
		return oneAtATime()
	}
	return rolling{surge: number(p.MaxSurge), unavailable: number(p.MaxUnavailable)}
}

func rolloutKind() Kind {
	return newKind("rollout", "Replaces every pod of a target, as a restart does.", Rollout{Target: targetApp, Pacing: Together},
		func(env Env, p Rollout) (Event, error) {
			t, err := env.target(p.Target)
			if err != nil {
				return nil, err
			}
			r := restartOf(env.Lab.Client, t.namespace, t.workloads...)
			r.name = "restart of " + t.name
			if p.Pacing != Together {
				r.name += ", " + string(p.Pacing)
				r.inTurn = true
			}
			return &paced{restart: r, pace: &pace{client: r.client, namespace: r.namespace, workloads: r.workloads, want: p.rolling()}}, nil
		})
}

// RestartOneByOne restarts a workload one pod at a time: each must be gone before
// the next one starts. Its own way of rolling is put back by Undo.
func RestartOneByOne(client *kube.Client, namespace string, workload kube.Workload) Event {
	r := restartOf(client, namespace, workload)
	r.name = "restart of " + workload.Name + ", one pod at a time"
	return &paced{restart: r, pace: &pace{client: client, namespace: namespace, workloads: r.workloads, want: oneAtATime()}}
}

// paced is a restart at a pace that is not the workloads' own.
type paced struct {
	*restart
	pace *pace
}

func (p *paced) Apply(ctx context.Context) error {
	if err := p.pace.set(ctx); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return p.restart.Apply(ctx)
}

// Undo puts back how the workloads roll; the pods are of the same kind as before.
func (p *paced) Undo(ctx context.Context) error { return p.pace.putBack(ctx) }
