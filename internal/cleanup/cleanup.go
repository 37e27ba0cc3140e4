// Package cleanup undoes what a run has set up, last thing first, whether the run
// ends well, by an error, a panic or a signal.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Stack is a list of undo steps; its zero value is ready. It is safe for
// concurrent use.
type Stack struct {
	mu    sync.Mutex
	steps []step
}

type step struct {
	subject string
	undo    func(context.Context) error
}

// Push adds an undo step. Push it before the thing that it undoes is begun, and
// make it succeed when there is nothing to undo: then no instant is uncovered.
func (s *Stack) Push(subject string, undo func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step{subject, undo})
}

// Release forgets all steps: what was set up is to stay.
func (s *Stack) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = nil
}

// Run undoes every step, the newest first, and goes on past failures, which it
// joins. Each step has limit to finish in and does not see the cancellation of
// ctx, since that is the very reason why most clean-ups run. A second Run finds
// nothing left to do.
func (s *Stack) Run(ctx context.Context, limit time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	var failures []error
	for {
		next, ok := s.pop()
		if !ok {
			return errors.Join(failures...)
		}
		if err := runStep(ctx, limit, next); err != nil {
			failures = append(failures, fmt.Errorf("clean up %s: %w", next.subject, err))
		}
	}
}

func (s *Stack) pop() (step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) == 0 {
		return step{}, false
	}
	last := s.steps[len(s.steps)-1]
	s.steps = s.steps[:len(s.steps)-1]
	return last, true
}

// runStep turns a panic of one step into its error: the others must still run.
func runStep(ctx context.Context, limit time.Duration, next step) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return next.undo(ctx)
}
