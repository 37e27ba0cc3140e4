package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"secondhop/internal/kube"
)

// topologyAnnotation asks for topology hints.
const topologyAnnotation = "service.kubernetes.io/topology-mode"

// ServicePatch are the parameters of service_patch. What is not set stays as it is.
type ServicePatch struct {
	Service      string         `yaml:"service" doc:"name of the Service in the application's namespace; the application's own if not set"`
	Type         *string        `yaml:"type" doc:"ClusterIP, NodePort or LoadBalancer"`
	Internal     *string        `yaml:"internalTrafficPolicy" doc:"Cluster or Local"`
	External     *string        `yaml:"externalTrafficPolicy" doc:"Cluster or Local; the type must not be ClusterIP"`
	Distribution *string        `yaml:"trafficDistribution" doc:"PreferClose, PreferSameZone, PreferSameNode, or empty for none"`
	TopologyMode *string        `yaml:"topologyMode" doc:"Auto for topology hints, or empty for none"`
	Affinity     *string        `yaml:"sessionAffinity" doc:"ClientIP or None"`
	AffinityTime *time.Duration `yaml:"affinityTimeout" doc:"how long an idle client is remembered, in whole seconds"`
	NotReady     *bool          `yaml:"publishNotReadyAddresses" doc:"whether pods that are not ready count as ready"`
	FamilyPolicy *string        `yaml:"ipFamilyPolicy" doc:"SingleStack, PreferDualStack or RequireDualStack"`
}

// Validate says what is wrong with the parameters.
func (p ServicePatch) Validate() error {
	if p.AffinityTime != nil && (*p.AffinityTime < time.Second || *p.AffinityTime%time.Second != 0) {
		return fmt.Errorf("affinityTimeout %s: want whole seconds", *p.AffinityTime)
	}
	return errors.Join(
		oneOf("type", p.Type, "ClusterIP", "NodePort", "LoadBalancer"),
		oneOf("internalTrafficPolicy", p.Internal, "Cluster", "Local"),
		oneOf("externalTrafficPolicy", p.External, "Cluster", "Local"),
		oneOf("trafficDistribution", p.Distribution, "PreferClose", "PreferSameZone", "PreferSameNode", ""),
		oneOf("topologyMode", p.TopologyMode, "Auto", ""),
		oneOf("sessionAffinity", p.Affinity, "ClientIP", "None"),
		oneOf("ipFamilyPolicy", p.FamilyPolicy, "SingleStack", "PreferDualStack", "RequireDualStack"))
}

// change writes the parameters into a Service.
func (p ServicePatch) change(s *corev1.Service) {
	setText(p.Type, &s.Spec.Type)
	setPointer(p.Internal, &s.Spec.InternalTrafficPolicy)
	setText(p.External, &s.Spec.ExternalTrafficPolicy)
	setPointer(p.Distribution, &s.Spec.TrafficDistribution)
	setText(p.Affinity, &s.Spec.SessionAffinity)
	setPointer(p.FamilyPolicy, &s.Spec.IPFamilyPolicy)
	if p.NotReady != nil {
		s.Spec.PublishNotReadyAddresses = *p.NotReady
	}
	if s.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		s.Spec.SessionAffinityConfig = nil
	} else if p.AffinityTime != nil {
		seconds := int32(*p.AffinityTime / time.Second)
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
	if s.Spec.Type == corev1.ServiceTypeClusterIP {
		s.Spec.ExternalTrafficPolicy = "" // it has no meaning there
	}
	if p.TopologyMode == nil {
		return
	}
	delete(s.Annotations, topologyAnnotation)
	if *p.TopologyMode != "" {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, topologyAnnotation, *p.TopologyMode)
	}
}

func setText[T ~string](value *string, field *T) {
	if value != nil {
		*field = T(*value)
	}
}

// setPointer takes an empty value for one that is to be absent.
func setPointer[T ~string](value *string, field **T) {
	if value == nil {
		return
	}
	*field = nil
	if *value != "" {
		text := T(*value)
		*field = &text
	}
}

func servicePatchKind() Kind {
	return newKind("service_patch", "Changes traffic policies, distribution, affinity or families of a Service.", ServicePatch{},
		func(env Env, p ServicePatch) (Event, error) {
			if p == (ServicePatch{Service: p.Service}) {
				return nil, errors.New("it changes nothing")
			}
			return &serviceChange{services: env.services(), name: env.serviceName(p.Service), patch: p}, nil
		})
}

// services are those of the application's namespace.
func (e Env) services() corev1client.ServiceInterface {
	return e.Lab.Client.Typed.CoreV1().Services(e.App.Spec.Namespace)
}

func (e Env) serviceName(name string) string {
	if name == "" || name == targetApp {
		return e.App.Spec.Name
	}
	return name
}

type serviceChange struct {
	services corev1client.ServiceInterface
	name     string
	patch    ServicePatch

	applied time.Time
	before  *corev1.Service
	written *corev1.Service
}

func (s *serviceChange) Name() string { return "change of Service " + s.name }

func (s *serviceChange) Apply(ctx context.Context) error {
	s.applied = time.Now()
	err := s.update(ctx, func(service *corev1.Service) {
		if s.before == nil {
			s.before = service.DeepCopy()
		}
		s.patch.change(service)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	return nil
}

func (s *serviceChange) update(ctx context.Context, change func(*corev1.Service)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		service, err := s.services.Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(service)
		s.written, err = s.services.Update(ctx, service, metav1.UpdateOptions{FieldManager: kube.FieldManager})
		return err
	})
}

// Confirm checks that the Service has changed and that nobody has changed it back.
func (s *serviceChange) Confirm(ctx context.Context) (Outcome, error) {
	now, err := s.services.Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return Outcome{}, fmt.Errorf("confirm the %s: %w", s.Name(), err)
	}
	if s.written.ResourceVersion == s.before.ResourceVersion {
		return Outcome{}, notProvoked(s, "it was like that before", nil)
	}
	wanted := now.DeepCopy()
	s.patch.change(wanted)
	if !sameService(wanted, now) {
		return Outcome{}, notProvoked(s, "somebody has changed it back", nil)
	}
	return Outcome{s.applied, time.Now(), "changed"}, nil
}

// Undo puts back what the parameters changed.
func (s *serviceChange) Undo(ctx context.Context) error {
	if s.before == nil {
		return nil
	}
	err := s.update(ctx, func(service *corev1.Service) {
		spec := s.before.Spec.DeepCopy()
		// What the server chose meanwhile stays where it is still needed.
		service.Spec.Type, service.Spec.TrafficDistribution = spec.Type, spec.TrafficDistribution
		service.Spec.InternalTrafficPolicy, service.Spec.ExternalTrafficPolicy = spec.InternalTrafficPolicy, spec.ExternalTrafficPolicy
		service.Spec.SessionAffinity, service.Spec.SessionAffinityConfig = spec.SessionAffinity, spec.SessionAffinityConfig
		service.Spec.PublishNotReadyAddresses = spec.PublishNotReadyAddresses
		service.Spec.IPFamilyPolicy, service.Spec.IPFamilies, service.Spec.ClusterIPs = spec.IPFamilyPolicy, spec.IPFamilies, spec.ClusterIPs
		delete(service.Annotations, topologyAnnotation)
		if mode, was := s.before.Annotations[topologyAnnotation]; was {
			metav1.SetMetaDataAnnotation(&service.ObjectMeta, topologyAnnotation, mode)
		}
	})
	if err != nil {
		return fmt.Errorf("undo the %s: %w", s.Name(), err)
	}
	return nil
}

// sameService compares what service_patch can change.
func sameService(a, b *corev1.Service) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && a.Annotations[topologyAnnotation] == b.Annotations[topologyAnnotation]
}
