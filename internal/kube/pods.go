package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pods lists the pods that selector (as kubectl -l takes it) matches, Terminating
// ones included, ordered by node and name.
func (c *Client) Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := c.Typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list pods %s in %s: %w", selector, namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		return strings.Compare(a.Spec.NodeName+"/"+a.Name, b.Spec.NodeName+"/"+b.Name)
	})
	return list.Items, nil
}

// PodByNode maps node names to the one live (not Terminating, Running) pod that
// selector finds there. Two such pods on a node are an error: the caller would
// talk to an arbitrary one.
func (c *Client) PodByNode(ctx context.Context, namespace, selector string) (map[string]string, error) {
	pods, err := c.Pods(ctx, namespace, selector)
	if err != nil {
		return nil, err
	}
	byNode := map[string]string{}
	for _, pod := range pods {
		if !Live(&pod) {
			continue
		}
		if other, taken := byNode[pod.Spec.NodeName]; taken {
			return nil, fmt.Errorf("pods %s and %s of %s are both live on %s", other, pod.Name, selector, pod.Spec.NodeName)
		}
		byNode[pod.Spec.NodeName] = pod.Name
	}
	return byNode, nil
}

// Live says that a pod runs and nobody has asked it to stop.
func Live(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning
}

// Ready says that a pod's Ready condition is true.
func Ready(pod *corev1.Pod) bool {
	return ConditionTrue(pod, corev1.PodReady)
}

// ConditionTrue says that a pod has the condition and it is true.
func ConditionTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Finished says that a pod's containers have ended for good.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
