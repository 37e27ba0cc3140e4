package kube

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"secondhop/edge/plan"
	"secondhop/edge/policy"
)

// app gathers what is known of one port of a Service; false when there is no such
// port. The messages are about its slot Services.
func (s *Source) app(key plan.AppKey) (policy.App, bool, []string) {
	service, err := s.services.Services(key.Namespace).Get(key.Service)
	if err != nil {
		return policy.App{}, false, nil
	}
	port, ok := servicePort(service, key.Port)
	if !ok {
		return policy.App{}, false, nil
	}
	app := policy.App{Namespace: key.Namespace, Service: key.Service, Port: port.Port}
	app.ClusterIP, _ = clusterAddress(service, port)
	ofService := labels.SelectorFromSet(labels.Set{discovery.LabelServiceName: key.Service})
	parts, _ := s.slices.EndpointSlices(key.Namespace).List(ofService) // a lister of a copy does not fail
	app.Endpoints = endpoints(parts, port.Name)
	all, _ := s.services.Services(key.Namespace).List(labels.Everything())
	var messages []string
	app.Slots, messages = slots(all, service.Name, port)
	return app, true, messages
}

func servicePort(service *core.Service, wanted string) (core.ServicePort, bool) {
	for _, port := range service.Spec.Ports {
		if port.Name == wanted && wanted != "" || strconv.Itoa(int(port.Port)) == wanted {
			return port, true
		}
	}
	return core.ServicePort{}, false
}

func clusterAddress(service *core.Service, port core.ServicePort) (netip.AddrPort, bool) {
	addr, err := netip.ParseAddr(service.Spec.ClusterIP) // fails on None and ""
	if err != nil {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr, uint16(port.Port)), true
}

// endpoints joins the slices of a Service. An address in two of them, as happens
// while one is split, is ready if it is in either.
func endpoints(parts []*discovery.EndpointSlice, portName string) []policy.Endpoint {
	found := map[netip.AddrPort]policy.Endpoint{}
	for _, part := range parts {
		port, ok := slicePort(part, portName)
		if !ok {
			continue
		}
		for _, e := range part.Endpoints {
			endpoint, ok := endpoint(e, port)
			if !ok {
				continue
			}
			if known := found[endpoint.Address]; !known.Ready {
				found[endpoint.Address] = endpoint
			}
		}
	}
	var all []policy.Endpoint
	for _, endpoint := range found {
		all = append(all, endpoint)
	}
	slices.SortFunc(all, func(a, b policy.Endpoint) int { return a.Address.Compare(b.Address) })
	return all
}

func slicePort(part *discovery.EndpointSlice, name string) (uint16, bool) {
	for _, port := range part.Ports {
		if port.Port != nil && (port.Name == nil && name == "" || port.Name != nil && *port.Name == name) {
			return uint16(*port.Port), true
		}
	}
	return 0, false
}

func endpoint(e discovery.Endpoint, port uint16) (policy.Endpoint, bool) {
	if len(e.Addresses) == 0 {
		return policy.Endpoint{}, false
	}
	addr, err := netip.ParseAddr(e.Addresses[0]) // the API: the addresses are interchangeable
	if err != nil {
		return policy.Endpoint{}, false // a host name, which has no place in a server
	}
	out := policy.Endpoint{Address: netip.AddrPortFrom(addr, port), Ready: e.Conditions.Ready == nil || *e.Conditions.Ready}
	if e.NodeName != nil {
		out.Node = *e.NodeName
	}
	if e.Zone != nil {
		out.Zone = *e.Zone
	}
	if e.Hints != nil {
		for _, zone := range e.Hints.ForZones {
			out.ForZones = append(out.ForZones, zone.Name)
		}
		for _, node := range e.Hints.ForNodes {
			out.ForNodes = append(out.ForNodes, node.Name)
		}
	}
	return out, true
}

// agentPort is the name of a slot Service's port on which pods tell their weight.
const agentPort = "agent"

// slots finds the slot Services of an app by name, <app>-slot-<number>. One that
// cannot be used is left out with a message: its pods then get spill-over only.
func slots(all []*core.Service, app string, port core.ServicePort) (found []policy.Slot, messages []string) {
	for _, service := range all {
		text, ok := strings.CutPrefix(service.Name, app+"-slot-")
		if !ok {
			continue
		}
		number, err := strconv.ParseUint(text, 10, 8)
		if err != nil || strconv.FormatUint(number, 10) != text {
			continue
		}
		slot, err := slot(service, int(number), port)
		if err != nil {
			messages = append(messages, fmt.Sprintf("slot Service %s: %v; the slot stays closed", service.Name, err))
			continue
		}
		found = append(found, slot)
	}
	slices.SortFunc(found, func(a, b policy.Slot) int { return cmp.Compare(a.Number, b.Number) })
	slices.Sort(messages)
	return found, messages
}

func slot(service *core.Service, number int, appPort core.ServicePort) (policy.Slot, error) {
	wanted := appPort.Name
	if wanted == "" {
		wanted = strconv.Itoa(int(appPort.Port))
	}
	port, ok := servicePort(service, wanted)
	if !ok {
		return policy.Slot{}, fmt.Errorf("no port %s", wanted)
	}
	agent, ok := servicePort(service, agentPort)
	if !ok {
		return policy.Slot{}, fmt.Errorf("no port %s", agentPort)
	}
	address, ok := clusterAddress(service, port)
	if !ok {
		return policy.Slot{}, fmt.Errorf("no cluster IP")
	}
	return policy.Slot{Number: number, Address: address, AgentPort: uint16(agent.Port)}, nil
}
