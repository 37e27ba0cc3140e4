package usher

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is what of a pod matters here, at one resourceVersion.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	// Version is the resourceVersion. Kubernetes documents it as a number that
	// grows, and so comparable between objects of one resource.
	Version uint64
	Node    string // "" until scheduled
	Created time.Time
	Labels  labels.Set
	// Slot is the value of the slot label; Labelled tells "" from none.
	Slot     string
	Labelled bool
	// Terminating pods have a deletion timestamp, ended ones a final phase.
	Terminating, Ended, Ready bool
}

// PodOf reads a pod object.
func (c Config) PodOf(object *corev1.Pod) (Pod, error) {
	version, err := strconv.ParseUint(object.ResourceVersion, 10, 64)
	if err != nil {
		return Pod{}, fmt.Errorf("read pod %s/%s: its resourceVersion is no number: %w", object.Namespace, object.Name, err)
	}
	slot, labelled := object.Labels[c.SlotLabel()]
	return Pod{
		Namespace: object.Namespace, Name: object.Name, UID: object.UID, Version: version,
		Node: object.Spec.NodeName, Created: object.CreationTimestamp.Time, Labels: object.Labels,
		Slot: slot, Labelled: labelled,
		Terminating: object.DeletionTimestamp != nil,
		Ended:       object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed,
		Ready:       isReady(object),
	}, nil
}

func isReady(object *corev1.Pod) bool {
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// older orders pods by age; creation times have whole seconds, so names decide
// between pods that one rollout made.
func (p Pod) older(q Pod) int {
	return cmp.Or(p.Created.Compare(q.Created), cmp.Compare(p.Name, q.Name))
}

// seenPod is a pod as a decision sees it: the newest known state, and the write
// in flight.
type seenPod struct {
	Pod
	pending *Write
}

// holds reports whether the pod has number n, or may have it once the write in
// flight arrives. A number being taken off is held until that is confirmed.
func (p seenPod) holds(n int) bool {
	if p.Ended {
		return false
	}
	if p.Labelled && parseNumber(p.Slot) == n {
		return true
	}
	return p.pending != nil && p.pending.Action == Assign && p.pending.Number == n
}
