package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"secondhop/internal/deploy"
)

// maxWeight is the largest weight that an agent can say, in percent.
const maxWeight = 256

// AgentSet are the parameters of agent_set. What is not set stays as it is.
type AgentSet struct {
	Pods   PodChoice         `yaml:"pods" doc:"which pods"`
	Mode   *deploy.AgentMode `yaml:"mode" doc:"normal, never-ready (0%), always-ready, weight-only, down, drain, maint, unknown or off (nothing listens)"`
	Weight *int              `yaml:"weight" doc:"percent of a full share, said when ready"`
}

// Validate says what is wrong with the parameters.
func (p AgentSet) Validate() error {
	if len(p.values()) == 0 {
		return errors.New("it sets nothing: name mode or weight")
	}
	if p.Weight != nil && (*p.Weight < 0 || *p.Weight > maxWeight) {
		return fmt.Errorf("weight %d: want 0 to %d", *p.Weight, maxWeight)
	}
	if p.Mode != nil {
		mode := string(*p.Mode)
		if err := oneOf("mode", &mode, "normal", "never-ready", "always-ready", "weight-only", "down", "drain", "maint", "unknown", "off"); err != nil {
			return err
		}
	}
	return p.Pods.Validate()
}

func (p AgentSet) values() []string {
	var v values
	set(&v, "agent", p.Mode)
	set(&v, "weight", p.Weight)
	return v
}

func agentSetKind() Kind {
	return newKind("agent_set", "Changes what the agent answers in pods that run.", AgentSet{},
		func(env Env, p AgentSet) (Event, error) {
			pods, err := env.choose(p.Pods)
			if err != nil {
				return nil, err
			}
			return &settings{
				name: "agent set", pods: pods, set: p.values(),
				seen: func(ctx context.Context, pod string) error { return p.answers(pods.run(ctx, pod, "/demoapp", "poll")) },
			}, nil
		})
}

// answers compares what a poll of the agent's port gave with the mode.
func (p AgentSet) answers(line string, failed error) error {
	if p.Mode == nil {
		return failed
	}
	said := strings.TrimSpace(line)
	off := failed != nil && strings.Contains(failed.Error(), "connection refused")
	switch mode := *p.Mode; {
	case mode == deploy.AgentOff && off:
		return nil
	case failed != nil:
		return failed
	case mode == deploy.AgentOff:
		return fmt.Errorf("the agent answers %q, and should not", said)
	case mode == deploy.AgentNeverReady && said != "0%",
		mode == deploy.AgentAlwaysReady && !strings.HasPrefix(said, "up ready "),
		mode == deploy.AgentWeightOnly && strings.Contains(said, " "),
		(mode == deploy.AgentDown || mode == deploy.AgentDrain || mode == deploy.AgentMaint) && said != string(mode):
		return fmt.Errorf("the agent answers %q in mode %s", said, mode)
	}
	return nil
}
