package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"secondhop/fixtures/manifests"
	"secondhop/internal/kube"
)

// WatchDelay are the parameters of watch_delay.
type WatchDelay struct {
	By time.Duration `yaml:"by" doc:"how old usher's view of pods and Services is"`
}

// Validate says what is wrong with the parameters.
func (p WatchDelay) Validate() error {
	if p.By <= 0 {
		return fmt.Errorf("by %s: want a delay such as 2s", p.By)
	}
	return nil
}

// delayFault is the flag of usher that delays its watches.
const delayFault = "--fault=delay-watch:"

func watchDelayKind() Kind {
	return newKind("watch_delay", "Restarts usher with a view of the API that is always late.", WatchDelay{By: 2 * time.Second},
		func(env Env, p WatchDelay) (Event, error) {
			return &lateView{by: p.By, client: env.Lab.Client}, nil
		})
}

type lateView struct {
	by      time.Duration
	client  *kube.Client
	applied time.Time
	changed bool
	before  []string // arguments
}

func (l *lateView) Name() string { return fmt.Sprintf("delay of usher's watches by %s", l.by) }

func (l *lateView) Apply(ctx context.Context) error {
	l.applied = time.Now()
	return l.arguments(ctx, func(args []string) []string {
		if !l.changed {
			l.changed, l.before = true, slices.Clone(args)
		}
		others := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "--fault") })
		return append(others, delayFault+l.by.String())
	})
}

// arguments changes those of usher's container.
func (l *lateView) arguments(ctx context.Context, change func([]string) []string) error {
	api := l.client.Typed.AppsV1().Deployments(manifests.LabNamespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		usher, err := api.Get(ctx, usherWorkload().Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		container := &usher.Spec.Template.Spec.Containers[0]
		container.Args = change(container.Args)
		_, err = api.Update(ctx, usher, metav1.UpdateOptions{FieldManager: kube.FieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: change its arguments: %w", l.Name(), err)
	}
	return nil
}

// Confirm waits until an usher that was started with the fault is the only one. One
// that does not know it ends at once.
func (l *lateView) Confirm(ctx context.Context) (Outcome, error) {
	if err := l.client.WaitRollout(ctx, manifests.LabNamespace, usherWorkload()); err != nil {
		return Outcome{}, notProvoked(l, "usher does not run with it", err)
	}
	return Outcome{l.applied, time.Now(), "usher runs with " + delayFault + l.by.String()}, nil
}

// Undo restarts usher with the arguments that it had, and waits for it.
func (l *lateView) Undo(ctx context.Context) error {
	if !l.changed {
		return nil
	}
	if err := l.arguments(ctx, func([]string) []string { return l.before }); err != nil {
		return err
	}
	return l.client.WaitRollout(ctx, manifests.LabNamespace, usherWorkload())
}
