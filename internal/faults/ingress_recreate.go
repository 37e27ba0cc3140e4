package faults

import (
	"context"
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"

	"secondhop/internal/kube"
)

// RecreateOrder is what comes first when an object is made anew.
type RecreateOrder string

// The orders.
const (
	DeleteFirst RecreateOrder = "delete-first" // its host is not served in between
	CreateFirst RecreateOrder = "create-first" // two objects ask for the host in between; the second has another name
)

// IngressRecreate are the parameters of ingress_recreate.
type IngressRecreate struct {
	Order RecreateOrder `yaml:"order" doc:"delete-first, or create-first: a second Ingress for the same host takes over"`
}

// Validate says what is wrong with the parameters.
func (p IngressRecreate) Validate() error {
	order := string(p.Order)
	return oneOf("order", &order, string(DeleteFirst), string(CreateFirst))
}

func ingressRecreateKind() Kind {
	return newKind("ingress_recreate", "Deletes the application's Ingress and makes it anew.", IngressRecreate{Order: CreateFirst},
		func(env Env, p IngressRecreate) (Event, error) {
			return &ingressRecreation{ingresses: env.ingresses(), name: env.App.Spec.Name, order: p.Order}, nil
		})
}

// ingresses are those of the application's namespace.
func (e Env) ingresses() networkingv1client.IngressInterface {
	return e.Lab.Client.Typed.NetworkingV1().Ingresses(e.App.Spec.Namespace)
}

type ingressRecreation struct {
	ingresses networkingv1client.IngressInterface
	name      string
	order     RecreateOrder

	applied time.Time
	before  *networkingv1.Ingress
}

func (i *ingressRecreation) Name() string {
	return fmt.Sprintf("re-creation of Ingress %s, %s", i.name, i.order)
}

// second is the name of the new Ingress.
func (i *ingressRecreation) second() string {
	if i.order == CreateFirst {
		return i.name + "-again"
	}
	return i.name
}

func (i *ingressRecreation) Apply(ctx context.Context) error {
	before, err := i.ingresses.Get(ctx, i.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", i.Name(), err)
	}
	i.applied, i.before = time.Now(), before
	steps := []func(context.Context) error{i.remove, func(ctx context.Context) error { return i.create(ctx, i.second()) }}
	if i.order == CreateFirst {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s: %w", i.Name(), err)
		}
	}
	return nil
}

func (i *ingressRecreation) remove(ctx context.Context) error {
	return i.ingresses.Delete(ctx, i.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &i.before.UID}})
}

func (i *ingressRecreation) create(ctx context.Context, name string) error {
	made := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: i.before.Labels, Annotations: i.before.Annotations}}
	i.before.Spec.DeepCopyInto(&made.Spec)
	_, err := i.ingresses.Create(ctx, made, metav1.CreateOptions{FieldManager: kube.FieldManager})
	return err
}

// Confirm checks that the new Ingress is there and the old one is not.
func (i *ingressRecreation) Confirm(ctx context.Context) (Outcome, error) {
	made, err := i.ingresses.Get(ctx, i.second(), metav1.GetOptions{})
	if err != nil {
		return Outcome{}, notProvoked(i, "there is no new one", err)
	}
	old, err := i.ingresses.Get(ctx, i.name, metav1.GetOptions{})
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return Outcome{}, fmt.Errorf("confirm the %s: %w", i.Name(), err)
	case err == nil && old.UID == i.before.UID:
		return Outcome{}, notProvoked(i, "the old one is still there", nil)
	}
	return Outcome{i.applied, time.Now(), "made anew as " + made.Name}, nil
}

// Undo has the Ingress back under its own name, the same way round: the new one goes
// when the old one is there again.
func (i *ingressRecreation) Undo(ctx context.Context) error {
	if i.before == nil {
		return nil
	}
	if err := i.create(ctx, i.name); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("undo the %s: %w", i.Name(), err)
	}
	if i.second() == i.name {
		return nil
	}
	if err := i.ingresses.Delete(ctx, i.second(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("undo the %s: %w", i.Name(), err)
	}
	return nil
}
