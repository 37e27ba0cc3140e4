package faults

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	"secondhop/internal/kube"
)

// rolling is how far a workload may leave its number of pods while it rolls; nil
// is as it is.
type rolling struct{ surge, unavailable *intstr.IntOrString }

func oneAtATime() rolling {
	none, one := 0, 1
	return rolling{surge: number(&none), unavailable: number(&one)}
}

func number(n *int) *intstr.IntOrString {
	if n == nil {
		return nil
	}
	value := intstr.FromInt(*n)
	return &value
}

func (r rolling) withDefaults(from rolling) rolling {
	if r.surge == nil {
		r.surge = from.surge
	}
	if r.unavailable == nil {
		r.unavailable = from.unavailable
	}
	return r
}

// pace sets how workloads roll and puts it back. A StatefulSet is left alone: it
// replaces one pod at a time in any case.
type pace struct {
	client    *kube.Client
	namespace string
	workloads []kube.Workload
	want      rolling
	before    map[kube.Workload]rolling
}

func (p *pace) set(ctx context.Context) error {
	if p.want == (rolling{}) {
		return nil
	}
	p.before = map[kube.Workload]rolling{}
	for _, workload := range p.workloads {
		before, err := p.swap(ctx, workload, p.want)
		if err != nil {
			return err
		}
		p.before[workload] = before
	}
	return nil
}

func (p *pace) putBack(ctx context.Context) error {
	var failures []error
	for workload, before := range p.before {
		_, err := p.swap(ctx, workload, before)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// swap sets how a workload rolls and returns how it did.
func (p *pace) swap(ctx context.Context, workload kube.Workload, want rolling) (before rolling, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		switch workload.Kind {
		case kube.Deployment:
			before, err = p.swapDeployment(ctx, workload.Name, want)
		case kube.DaemonSet:
			before, err = p.swapDaemonSet(ctx, workload.Name, want)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("set how %s of %s rolls: %w", workload, p.namespace, err)
	}
	return before, err
}

func (p *pace) swapDeployment(ctx context.Context, name string, want rolling) (rolling, error) {
	api := p.client.Typed.AppsV1().Deployments(p.namespace)
	d, err := api.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return rolling{}, err
	}
	update := d.Spec.Strategy.RollingUpdate
	if update == nil {
		return rolling{}, fmt.Errorf("its strategy is %s", d.Spec.Strategy.Type)
	}
	before := rolling{update.MaxSurge, update.MaxUnavailable}
	next := want.withDefaults(before)
	update.MaxSurge, update.MaxUnavailable = next.surge, next.unavailable
	_, err = api.Update(ctx, d, metav1.UpdateOptions{FieldManager: kube.FieldManager})
	return before, err
}

func (p *pace) swapDaemonSet(ctx context.Context, name string, want rolling) (rolling, error) {
	api := p.client.Typed.AppsV1().DaemonSets(p.namespace)
	d, err := api.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return rolling{}, err
	}
	update := d.Spec.UpdateStrategy.RollingUpdate
	if update == nil {
		return rolling{}, fmt.Errorf("its strategy is %s", d.Spec.UpdateStrategy.Type)
	}
	before := rolling{update.MaxSurge, update.MaxUnavailable}
	next := want.withDefaults(before)
	update.MaxSurge, update.MaxUnavailable = next.surge, next.unavailable
	_, err = api.Update(ctx, d, metav1.UpdateOptions{FieldManager: kube.FieldManager})
	return before, err
}
