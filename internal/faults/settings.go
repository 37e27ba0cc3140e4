package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"secondhop/internal/wait"
)

// settings are values of the application as "name=value", to be set in pods that
// run. A pod that is made later starts as its workload says.
type settings struct {
	name string
	pods *chosen
	set  []string
	// seen looks at one pod from outside, if that shows more than the settings do.
	seen func(ctx context.Context, pod string) error

	mu      sync.Mutex
	applied time.Time
	before  map[types.UID][]string // what was set in each pod
}

func (s *settings) Name() string {
	return fmt.Sprintf("%s: %s in %s", s.name, strings.Join(s.set, " "), s.pods)
}

func (s *settings) Apply(ctx context.Context) error {
	pods, err := s.pods.some(ctx, s)
	if err != nil {
		return err
	}
	s.before = map[types.UID][]string{}
	s.applied = time.Now()
	return s.inEach(ctx, pods, func(ctx context.Context, pod corev1.Pod) error {
		before, err := s.current(ctx, pod.Name)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.before[pod.UID] = before
		s.mu.Unlock()
		return s.write(ctx, pod.Name, s.set)
	})
}

// inEach does something in all pods at the same time.
func (s *settings) inEach(ctx context.Context, pods []corev1.Pod, do func(context.Context, corev1.Pod) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, pod := range pods {
		group.Go(func() error {
			if err := do(ctx, pod); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *settings) write(ctx context.Context, pod string, values []string) error {
	_, err := s.pods.run(ctx, pod, append([]string{"/demoapp", "set"}, values...)...)
	return err
}

// current are the present values of what the event sets.
func (s *settings) current(ctx context.Context, pod string) ([]string, error) {
	text, err := s.pods.run(ctx, pod, "/demoapp", "get")
	if err != nil {
		return nil, err
	}
	var values []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, _, _ := strings.Cut(line, "="); slices.ContainsFunc(s.set, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			values = append(values, line)
		}
	}
	return values, nil
}

// Confirm waits until every pod that is still there goes by the new values.
func (s *settings) Confirm(ctx context.Context) (Outcome, error) {
	var changed int
	err := wait.Until(ctx, strings.Join(s.set, " ")+" to be in force", podPeriod, func(ctx context.Context) error {
		pods, err := s.left(ctx)
		if err != nil {
			return err
		}
		changed = len(pods)
		return s.inEach(ctx, pods, s.inForce)
	})
	switch {
	case err != nil:
		return Outcome{}, notProvoked(s, "the pods do not go by it", err)
	case changed == 0:
		return Outcome{}, notProvoked(s, "every pod has gone meanwhile", nil)
	}
	return Outcome{s.applied, time.Now(), fmt.Sprintf("%d pods", changed)}, nil
}

func (s *settings) inForce(ctx context.Context, pod corev1.Pod) error {
	now, err := s.current(ctx, pod.Name)
	if err != nil {
		return err
	}
	for _, want := range s.set {
		if !slices.Contains(now, want) {
			return fmt.Errorf("%s has %s, want %s", pod.Name, strings.Join(now, " "), want)
		}
	}
	if s.seen == nil {
		return nil
	}
	return s.seen(ctx, pod.Name)
}

// left are the pods of Apply that still run.
func (s *settings) left(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := s.pods.all(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return s.before[pod.UID] == nil || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning
	}), nil
}

// Undo puts the old values back in the pods that still run.
func (s *settings) Undo(ctx context.Context) error {
	pods, err := s.left(ctx)
	if err != nil {
		return fmt.Errorf("undo %s: %w", s.Name(), err)
	}
	var failures []error
	for _, pod := range pods {
		if err := s.write(ctx, pod.Name, s.before[pod.UID]); err != nil {
			failures = append(failures, fmt.Errorf("undo %s: %w", s.Name(), err))
		}
	}
	return errors.Join(failures...)
}

// values collects settings that are to be set: those that are not nil.
type values []string

func set[T any](v *values, name string, value *T) {
	if value != nil {
		*v = append(*v, fmt.Sprintf("%s=%v", name, *value))
	}
}
