package faults

import (
	"context"
	"fmt"
	"time"
)

// OperatorPause are the parameters of operator_pause.
type OperatorPause struct{}

func operatorPauseKind() Kind {
	return newKind("operator_pause",
		"Freezes the leading usher until it is undone. After about 30 s its kubelet kills it, as it does not answer.", OperatorPause{},
		func(env Env, _ OperatorPause) (Event, error) { return &freeze{operator: env.operator()}, nil })
}

// freeze stops the leading usher where it is: it neither renews its lease nor knows
// that it does not.
type freeze struct {
	operator operator
	applied  time.Time
	frozen   leadership
}

func (f *freeze) Name() string { return "pause of usher" }

func (f *freeze) Apply(ctx context.Context) error {
	leader, err := f.operator.leader(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	f.applied, f.frozen = time.Now(), leader
	if err := leader.runtime.signal(ctx, leader.task, "SIGSTOP"); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

// Confirm looks at the state of the process.
func (f *freeze) Confirm(ctx context.Context) (Outcome, error) {
	stopped, err := f.frozen.runtime.stopped(ctx, f.frozen.task.pid)
	if err != nil || !stopped {
		return Outcome{}, notProvoked(f, "the process runs", err)
	}
	return Outcome{f.applied, time.Now(), fmt.Sprintf("process %d on %s is stopped", f.frozen.task.pid, f.frozen.runtime.node)}, nil
}

// Undo lets the process go on, if it is still there.
func (f *freeze) Undo(ctx context.Context) error {
	if f.frozen.holder == "" {
		return nil
	}
	r, t := f.frozen.runtime, f.frozen.task
	err := r.signal(ctx, t, "SIGCONT")
	if err == nil {
		return nil
	}
	if now, listed := r.running(ctx, "id=="+t.container); listed == nil && len(now) == 0 {
		return nil // the kubelet has killed it
	}
	return fmt.Errorf("undo the %s: %w", f.Name(), err)
}
