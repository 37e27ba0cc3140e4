package usher

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// horizonOf asks for the present revision of pods. Without a resourceVersion a
// list is answered from the store by quorum, so all writes of earlier terms that
// took effect are at or before it.
func horizonOf(ctx context.Context, client kubernetes.Interface) (uint64, error) {
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, fmt.Errorf("read the present revision of pods: %w", err)
	}
	revision, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the present revision of pods: it is no number: %w", err)
	}
	return revision, nil
}

// notOlder makes the first list of an informer no older than horizon; by default
// it may come from an API server's cache that lags.
func notOlder(horizon uint64) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) {
		if o.ResourceVersion == "0" {
			o.ResourceVersion = strconv.FormatUint(horizon, 10)
		}
	}
}

// newest makes the first list of an informer a read by quorum.
func newest(o *metav1.ListOptions) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
}

// informers are the watches of one term.
type informers struct {
	pods, services, nodes cache.SharedIndexInformer
}

const byOwner = "owner"

func newInformers(client kubernetes.Interface, ingressNodes string, horizon uint64) (informers, error) {
	in := informers{
		pods: coreinformers.NewFilteredPodInformer(client, "", 0, cache.Indexers{}, notOlder(horizon)),
		services: coreinformers.NewFilteredServiceInformer(client, "", 0, cache.Indexers{
			cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
			// slot Services by namespace/app, so that an app's are found at once
			byOwner: func(object any) ([]string, error) {
				s, ok := object.(*corev1.Service)
				if !ok || slotOwner(s) == "" {
					return nil, nil
				}
				return []string{s.Namespace + "/" + slotOwner(s)}, nil
			},
		}, newest),
		nodes: coreinformers.NewFilteredNodeInformer(client, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
			o.LabelSelector = ingressNodes
		}),
	}
	if err := in.pods.SetTransform(stripPod); err != nil {
		return informers{}, fmt.Errorf("watch pods: %w", err)
	}
	if err := in.nodes.SetTransform(stripNode); err != nil {
		return informers{}, fmt.Errorf("watch nodes: %w", err)
	}
	return in, nil
}

// stripPod keeps only what is read: a cluster's pods are most of the memory.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{}
	slim.Namespace, slim.Name, slim.UID = pod.Namespace, pod.Name, pod.UID
	slim.ResourceVersion, slim.Labels = pod.ResourceVersion, pod.Labels
	slim.CreationTimestamp, slim.DeletionTimestamp = pod.CreationTimestamp, pod.DeletionTimestamp
	slim.Spec.NodeName = pod.Spec.NodeName
	slim.Status.Phase = pod.Status.Phase
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			slim.Status.Conditions = []corev1.PodCondition{c}
		}
	}
	return slim, nil
}

func stripNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	slim := &corev1.Node{}
	slim.Name, slim.ResourceVersion = node.Name, node.ResourceVersion
	return slim, nil
}

// handlers turns the events of one kind of object into work. An object that was
// deleted and made anew under its name can arrive as one update.
func handlers[T metav1.Object](set, drop func(T)) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if o, ok := object.(T); ok {
				set(o)
			}
		},
		UpdateFunc: func(before, after any) {
			b, _ := before.(T)
			a, ok := after.(T)
			if !ok {
				return
			}
			if b.GetUID() != a.GetUID() {
				drop(b)
			}
			set(a)
		},
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			if o, ok := object.(T); ok {
				drop(o)
			}
		},
	}
}
