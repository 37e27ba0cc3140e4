package kube

import (
	"fmt"
	"strconv"

	networking "k8s.io/api/networking/v1"

	"secondhop/edge/plan"
)

// Annotations of Ingress objects.
const (
	PolicyAnnotation     = "secondhop.io/endpoint-policy"
	RedispatchAnnotation = "secondhop.io/redispatch" // "off" for the negative control
)

func problem(i *networking.Ingress, reason, message string) plan.Problem {
	return plan.Problem{Namespace: i.Namespace, Ingress: i.Name, UID: string(i.UID), Reason: reason, Message: message}
}

// ingress reads one object; rules that it cannot serve are problems.
func ingress(i *networking.Ingress) (plan.Ingress, []plan.Problem) {
	out := plan.Ingress{
		Namespace: i.Namespace, Name: i.Name, UID: string(i.UID), Created: i.CreationTimestamp.Time,
		Policy: i.Annotations[PolicyAnnotation], Redispatch: true,
	}
	var problems []plan.Problem
	switch value := i.Annotations[RedispatchAnnotation]; value {
	case "", "on":
	case "off":
		out.Redispatch = false
	default:
		problems = append(problems, problem(i, "BadAnnotation", fmt.Sprintf("%s is %q, want on or off; it stays on", RedispatchAnnotation, value)))
	}
	add := func(host, path string, exact bool, backend networking.IngressBackend) {
		key, err := appKey(i.Namespace, backend)
		if err != nil {
			problems = append(problems, problem(i, "UnsupportedBackend", fmt.Sprintf("host %q path %q: %v", host, path, err)))
			return
		}
		out.Rules = append(out.Rules, plan.Rule{Host: host, Path: path, Exact: exact, App: key})
	}
	for _, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, p := range rule.HTTP.Paths {
			exact := p.PathType != nil && *p.PathType == networking.PathTypeExact
			add(rule.Host, p.Path, exact, p.Backend)
		}
	}
	if i.Spec.DefaultBackend != nil {
		add("", "/", false, *i.Spec.DefaultBackend)
	}
	return out, problems
}

func appKey(namespace string, b networking.IngressBackend) (plan.AppKey, error) {
	if b.Service == nil {
		return plan.AppKey{}, fmt.Errorf("only Services can be a backend")
	}
	port := b.Service.Port.Name
	if port == "" {
		port = strconv.Itoa(int(b.Service.Port.Number))
	}
	return plan.AppKey{Namespace: namespace, Service: b.Service.Name, Port: port}, nil
}
