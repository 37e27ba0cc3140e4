package faults

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/fixtures/manifests"
	"secondhop/internal/kube"
)

// operator is usher as it runs in a lab.
type operator struct {
	client *kube.Client
	exec   nodeExec
}

func (e Env) operator() operator { return operator{e.Lab.Client, e.Cluster} }

// leadership is one process that leads.
type leadership struct {
	holder  string // that the lease names; no two processes have the same
	runtime runtime
	task    task
}

// leader finds the process of the usher that leads. Its lease names its pod: the
// holder is "<host name>_<random>".
func (o operator) leader(ctx context.Context) (leadership, error) {
	found, err := o.findLeader(ctx)
	if err != nil {
		return leadership{}, fmt.Errorf("find the leading usher: %w", err)
	}
	return found, nil
}

func (o operator) findLeader(ctx context.Context) (leadership, error) {
	lease, err := o.client.Typed.CoordinationV1().Leases(manifests.LabNamespace).Get(ctx, "usher", metav1.GetOptions{})
	if err != nil {
		return leadership{}, err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return leadership{}, errors.New("nobody holds the lease")
	}
	holder := *lease.Spec.HolderIdentity
	name, _, _ := strings.Cut(holder, "_")
	pod, err := o.client.Typed.CoreV1().Pods(manifests.LabNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return leadership{}, err
	}
	r := runtime{o.exec, pod.Spec.NodeName}
	tasks, err := r.running(ctx, containerOf(manifests.LabNamespace, "usher", "^"+regexp.QuoteMeta(name)+"$"))
	if err != nil {
		return leadership{}, err
	}
	if len(tasks) != 1 {
		return leadership{}, fmt.Errorf("%d processes of pod %s run on %s", len(tasks), name, r.node)
	}
	return leadership{holder, r, tasks[0]}, nil
}
