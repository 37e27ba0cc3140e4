package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"secondhop/internal/wait"
)

// OperatorCrash are the parameters of operator_crash.
type OperatorCrash struct{}

func operatorCrashKind() Kind {
	return newKind("operator_crash", "Kills the leading usher; its kubelet starts it again.", OperatorCrash{},
		func(env Env, _ OperatorCrash) (Event, error) { return &crash{operator: env.operator()}, nil })
}

// crash ends the leading usher without giving up its lease.
type crash struct {
	operator operator
	applied  time.Time
	victim   leadership
}

func (c *crash) Name() string { return "crash of usher" }

func (c *crash) Apply(ctx context.Context) error {
	leader, err := c.operator.leader(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	c.applied, c.victim = time.Now(), leader
	if err := leader.runtime.signal(ctx, leader.task, "SIGKILL"); err != nil {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	return nil
}

// Confirm waits until another process leads. The new one has to wait for the end of
// the old one's lease.
func (c *crash) Confirm(ctx context.Context) (Outcome, error) {
	next, err := wait.For(ctx, "another usher to lead", operatorPeriod, func(ctx context.Context) (leadership, error) {
		leader, err := c.operator.leader(ctx)
		if err == nil && leader.holder == c.victim.holder {
			err = errors.New("the lease is still that of the one killed")
		}
		return leader, err
	})
	if err != nil {
		return Outcome{}, notProvoked(c, "no other process leads", err)
	}
	return Outcome{c.applied, time.Now(), fmt.Sprintf("process %d leads after %d", next.task.pid, c.victim.task.pid)}, nil
}

// Undo has nothing to put back.
func (c *crash) Undo(context.Context) error { return nil }

const operatorPeriod = 500 * time.Millisecond
