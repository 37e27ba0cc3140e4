package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"

	"secondhop/internal/edges"
	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// IngressPatch are the parameters of ingress_patch. What is not set stays as it is.
type IngressPatch struct {
	Policy      *string           `yaml:"policy" doc:"endpoint policy of the edge: slots, endpoints, cluster-ip or another that it knows"`
	Redispatch  *string           `yaml:"redispatch" doc:"every, last or off"`
	Annotations map[string]string `yaml:"annotations" doc:"annotations of the Ingress; an empty value removes one"`
}

// Names of the edge's annotations.
const (
	policyAnnotation     = "secondhop.io/endpoint-policy"
	redispatchAnnotation = "secondhop.io/redispatch"
)

// Validate says what is wrong with the parameters.
func (p IngressPatch) Validate() error {
	if len(p.all()) == 0 {
		return errors.New("it changes nothing: name policy, redispatch or annotations")
	}
	return oneOf("redispatch", p.Redispatch, "every", "last", "off")
}

// all are the annotations to write.
func (p IngressPatch) all() map[string]string {
	all := map[string]string{}
	for name, value := range p.Annotations {
		all[name] = value
	}
	if p.Policy != nil {
		all[policyAnnotation] = *p.Policy
	}
	if p.Redispatch != nil {
		all[redispatchAnnotation] = *p.Redispatch
	}
	return all
}

func ingressPatchKind() Kind {
	return newKind("ingress_patch", "Changes annotations of the application's Ingress, such as its policy or its retries.", IngressPatch{},
		func(env Env, p IngressPatch) (Event, error) {
			return &ingressChange{
				ingresses: env.ingresses(), name: env.App.Spec.Name, want: p.all(),
				served: func(ctx context.Context) (map[string]string, error) { return served(ctx, env.Lab.Edges) },
			}, nil
		})
}

// served describes what each edge serves with: its process and its backends.
func served(ctx context.Context, all *edges.Edges) (map[string]string, error) {
	stats, err := all.Stats(ctx)
	if err != nil {
		return nil, err
	}
	described := map[string]string{}
	for node, s := range stats {
		var backends []string
		for _, server := range s.Servers {
			backends = append(backends, server.Proxy)
		}
		slices.Sort(backends)
		described[node] = s.Worker + " " + strings.Join(slices.Compact(backends), " ")
	}
	return described, nil
}

type ingressChange struct {
	ingresses networkingv1client.IngressInterface
	name      string
	want      map[string]string
	served    func(context.Context) (map[string]string, error) // by node

	applied   time.Time
	before    map[string]string // annotations
	hadServed map[string]string
}

func (i *ingressChange) Name() string { return "change of Ingress " + i.name }

func (i *ingressChange) Apply(ctx context.Context) error {
	had, err := i.served(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", i.Name(), err)
	}
	ingress, err := i.ingresses.Get(ctx, i.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", i.Name(), err)
	}
	i.applied, i.hadServed = time.Now(), had
	i.before = map[string]string{}
	for name := range i.want {
		i.before[name] = ingress.Annotations[name]
	}
	return i.write(ctx, i.want)
}

func (i *ingressChange) write(ctx context.Context, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": nullable(annotations)}})
	if err != nil {
		return err
	}
	_, err = i.ingresses.Patch(ctx, i.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager})
	if err != nil {
		return fmt.Errorf("%s: %w", i.Name(), err)
	}
	return nil
}

// Confirm waits until every edge serves with another process or other backends.
func (i *ingressChange) Confirm(ctx context.Context) (Outcome, error) {
	err := wait.Until(ctx, "every edge to take the change", operatorPeriod, func(ctx context.Context) error {
		now, err := i.served(ctx)
		if err != nil {
			return err
		}
		for node, had := range i.hadServed {
			if now[node] == had {
				return fmt.Errorf("the edge on %s is as before", node)
			}
		}
		return nil
	})
	if err != nil {
		return Outcome{}, notProvoked(i, "the edges are as before", err)
	}
	return Outcome{i.applied, time.Now(), fmt.Sprintf("%d edges changed", len(i.hadServed))}, nil
}

// Undo puts the annotations back.
func (i *ingressChange) Undo(ctx context.Context) error {
	if i.before == nil {
		return nil
	}
	return i.write(ctx, i.before)
}
