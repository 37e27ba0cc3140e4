package faults

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// ServiceRecreate are the parameters of service_recreate.
type ServiceRecreate struct {
	Service string `yaml:"service" doc:"name of the Service in the application's namespace; the application's own if not set. usher makes slot Services again by itself"`
}

func serviceRecreateKind() Kind {
	return newKind("service_recreate", "Deletes a Service and makes it anew, with another address.", ServiceRecreate{},
		func(env Env, p ServiceRecreate) (Event, error) {
			return &serviceRecreation{services: env.services(), name: env.serviceName(p.Service)}, nil
		})
}

type serviceRecreation struct {
	services corev1client.ServiceInterface
	name     string

	applied time.Time
	before  *corev1.Service
}

func (s *serviceRecreation) Name() string { return "re-creation of Service " + s.name }

func (s *serviceRecreation) Apply(ctx context.Context) error {
	before, err := s.services.Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return notProvoked(s, "there is no such Service", err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	s.applied, s.before = time.Now(), before
	err = s.services.Delete(ctx, s.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &before.UID}})
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	if s.managed() {
		return nil
	}
	return s.create(ctx)
}

// managed says that somebody else makes the Service again.
func (s *serviceRecreation) managed() bool { return metav1.GetControllerOf(s.before) != nil }

func (s *serviceRecreation) create(ctx context.Context) error {
	_, err := s.services.Create(ctx, again(s.before), metav1.CreateOptions{FieldManager: kube.FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	return nil
}

// again is a Service like another, without what the server chose for that one.
func again(old *corev1.Service) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: old.Name, Labels: old.Labels, Annotations: old.Annotations}}
	old.Spec.DeepCopyInto(&service.Spec)
	service.Spec.ClusterIP, service.Spec.ClusterIPs, service.Spec.HealthCheckNodePort = "", nil, 0
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].NodePort = 0
	}
	return service
}

// Confirm waits for the new Service and looks at its address.
func (s *serviceRecreation) Confirm(ctx context.Context) (Outcome, error) {
	now, err := wait.For(ctx, "another Service "+s.name, podPeriod, func(ctx context.Context) (*corev1.Service, error) {
		now, err := s.services.Get(ctx, s.name, metav1.GetOptions{})
		if err == nil && now.UID == s.before.UID {
			err = fmt.Errorf("it is the old one")
		}
		return now, err
	})
	switch {
	case err != nil:
		return Outcome{}, notProvoked(s, "it was not made anew", err)
	case now.Spec.ClusterIP == s.before.Spec.ClusterIP:
		return Outcome{}, notProvoked(s, "it has the same address again, "+now.Spec.ClusterIP, nil)
	}
	return Outcome{s.applied, time.Now(), fmt.Sprintf("address %s after %s", now.Spec.ClusterIP, s.before.Spec.ClusterIP)}, nil
}

// Undo makes the Service if it is missing: the address cannot be had back.
func (s *serviceRecreation) Undo(ctx context.Context) error {
	if s.before == nil || s.managed() {
		return nil
	}
	return s.create(ctx)
}
