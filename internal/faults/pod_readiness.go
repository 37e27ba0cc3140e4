package faults

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/internal/kube"
)

// PodReadiness are the parameters of pod_readiness.
type PodReadiness struct {
	Pods  PodChoice `yaml:"pods" doc:"which pods"`
	Ready bool      `yaml:"ready" doc:"what the readiness probe finds; the pods serve in any case"`
}

func podReadinessKind() Kind {
	return newKind("pod_readiness", "Turns the readiness of pods off (or on) while they serve.", PodReadiness{},
		func(env Env, p PodReadiness) (Event, error) {
			pods, err := env.choose(p.Pods)
			if err != nil {
				return nil, err
			}
			return &settings{
				name: "readiness", pods: pods, set: []string{fmt.Sprintf("ready=%v", p.Ready)},
				seen: func(ctx context.Context, pod string) error { return isReady(ctx, pods, pod, p.Ready) },
			}, nil
		})
}

func isReady(ctx context.Context, pods *chosen, name string, want bool) error {
	pod, err := pods.client.Typed.CoreV1().Pods(pods.app.Spec.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if kube.Ready(pod) != want {
		return fmt.Errorf("pod %s: Ready is %v still", name, !want)
	}
	return nil
}
