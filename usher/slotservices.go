package usher

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// agentPortName is the name of the agent's port on a slot Service.
const agentPortName = "agent"

// serviceChanges is what has to be written so that the slot Services of one app
// are as they should be.
type serviceChanges struct {
	create, update, remove []*corev1.Service
	// taken are Services of others that have a slot Service's name.
	taken []string
}

func (s serviceChanges) empty() bool {
	return len(s.create)+len(s.update)+len(s.remove) == 0
}

// wantServices compares the Services of a namespace with those that service
// should have; nil service, or one with no slots, should have none. name is the app's.
func (c Config) wantServices(name string, service *corev1.Service, slots int, have []*corev1.Service) serviceChanges {
	var changes serviceChanges
	byName := map[string]*corev1.Service{}
	for _, s := range have {
		byName[s.Name] = s
	}
	wanted := map[string]bool{}
	for n := range slots {
		slot := SlotServiceName(name, n)
		wanted[slot] = true
		present, exists := byName[slot]
		switch {
		case !exists:
			changes.create = append(changes.create, c.slotService(service, n, nil))
		case slotOwner(present) != name:
			changes.taken = append(changes.taken, slot)
		case present.DeletionTimestamp != nil:
			// made anew when it is gone
		case present.Spec.ClusterIP == corev1.ClusterIPNone:
			changes.remove = append(changes.remove, present) // it cannot be given an address
		default:
			if repaired := c.slotService(service, n, present); !equality.Semantic.DeepEqual(repaired, present) {
				changes.update = append(changes.update, repaired)
			}
		}
	}
	for _, s := range have {
		if !wanted[s.Name] && slotOwner(s) == name && s.DeletionTimestamp == nil {
			changes.remove = append(changes.remove, s)
		}
	}
	return changes
}

// slotOwner is the app that a Service is a slot Service of, or "". The owner
// reference decides and not the label, which anyone may copy with a manifest.
func slotOwner(s *corev1.Service) string {
	if ref := metav1.GetControllerOf(s); ref != nil && ref.APIVersion == "v1" && ref.Kind == "Service" {
		return ref.Name
	}
	return ""
}

// slotService is the Service of number n as it should be, built on present so
// that what others may add (labels, annotations, the cluster's addresses) stays.
func (c Config) slotService(app *corev1.Service, n int, present *corev1.Service) *corev1.Service {
	slot := &corev1.Service{}
	if present != nil {
		slot = present.DeepCopy()
	}
	slot.Namespace, slot.Name = app.Namespace, SlotServiceName(app.Name, n)
	if slot.Labels == nil {
		slot.Labels = map[string]string{}
	}
	slot.Labels[c.OwnerLabel()] = app.Name
	controller := true
	slot.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Service", Name: app.Name, UID: app.UID, Controller: &controller,
	}}
	selector := maps.Clone(app.Spec.Selector)
	selector[c.SlotLabel()] = fmt.Sprint(n)
	local := corev1.ServiceInternalTrafficPolicyLocal
	slot.Spec = corev1.ServiceSpec{
		Type:                     corev1.ServiceTypeClusterIP,
		Selector:                 selector,
		Ports:                    c.slotPorts(app.Spec.Ports),
		InternalTrafficPolicy:    &local,
		PublishNotReadyAddresses: true,
		SessionAffinity:          corev1.ServiceAffinityNone,
		ClusterIP:                slot.Spec.ClusterIP,
		ClusterIPs:               slot.Spec.ClusterIPs,
		IPFamilies:               slot.Spec.IPFamilies,
		IPFamilyPolicy:           slot.Spec.IPFamilyPolicy,
	}
	return slot
}

// slotPorts are the app's ports and the agent's. With two ports each needs a
// name, which an app with one port may not have given.
func (c Config) slotPorts(app []corev1.ServicePort) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, p := range app {
		port := corev1.ServicePort{
			Name: p.Name, Protocol: p.Protocol, AppProtocol: p.AppProtocol, Port: p.Port, TargetPort: p.TargetPort,
		}
		if port.Name == "" {
			port.Name = "http"
		}
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.TargetPort == (intstr.IntOrString{}) {
			port.TargetPort = intstr.FromInt32(p.Port)
		}
		ports = append(ports, port)
	}
	if slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Port == c.AgentPort || p.Name == agentPortName }) {
		return ports // the app publishes its agent itself
	}
	return append(ports, corev1.ServicePort{
		Name: agentPortName, Protocol: corev1.ProtocolTCP, Port: c.AgentPort, TargetPort: intstr.FromInt32(c.AgentPort),
	})
}

// publishedSelectors are the selectors of an app's slot Services without the slot
// label, each once.
func (c Config) publishedSelectors(slots []*corev1.Service) []labels.Selector {
	var published []labels.Selector
	var seen []string
	for _, s := range slots {
		set := maps.Clone(s.Spec.Selector)
		delete(set, c.SlotLabel())
		if text := labels.FormatLabels(set); len(s.Spec.Selector) > 0 && !slices.Contains(seen, text) {
			seen = append(seen, text)
			published = append(published, labels.SelectorFromSet(set))
		}
	}
	return published
}
