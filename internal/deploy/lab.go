// Package deploy puts the parts under test into the lab's cluster (usher, the
// edge, an application per strategy) and waits until they are really ready: not
// until Kubernetes says so, but until every HAProxy would do what is measured.
package deploy

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/clusters"
	"secondhop/fixtures/manifests"
	"secondhop/internal/edges"
	"secondhop/internal/kube"
)

// IngressClass is the class of the lab's edge.
const IngressClass = "secondhop"

// Images are the references of our own images; each tag is a hash of the content,
// so that a changed binary changes the pod template and restarts the pods.
type Images struct {
	Usher, Edge, Demoapp string
}

// Lab is a cluster together with what this package puts into it.
type Lab struct {
	Client  *kube.Client
	Cluster *clusters.Cluster
	Images  Images
	Edges   *edges.Edges
}

// New makes a Lab; it does not touch the cluster.
func New(cluster *clusters.Cluster, images Images) (*Lab, error) {
	config, err := cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	return &Lab{
		Client: client, Cluster: cluster, Images: images,
		Edges: &edges.Edges{Client: client, Namespace: manifests.LabNamespace, Nodes: cluster.WorkerNames()},
	}, nil
}

// Options are what differs between labs. The zero value is the lab of most runs.
type Options struct {
	UsherArgs []string  // more arguments for usher, such as a fault for a negative control
	EdgeArgs  []string  // more arguments for the edge
	AtOnce    bool      // replaces all edges at the same time; requests under way are lost
	Progress  io.Writer // one line per step; nil for none
}

// Install applies the lab's namespace, usher and the edge, and waits until usher
// runs and every worker's ingress answers. Installing what is there already
// changes nothing and takes no more than the checks.
func (l *Lab) Install(ctx context.Context, opts Options) error {
	if err := l.Apply(ctx, opts); err != nil {
		return err
	}
	say := progressTo(opts.Progress)
	say("waiting for usher and %d ingresses", len(l.Cluster.Workers()))
	group, waiting := errgroup.WithContext(ctx)
	for _, part := range []kube.Workload{{Kind: kube.Deployment, Name: "usher"}, {Kind: kube.DaemonSet, Name: "edge"}} {
		group.Go(func() error { return l.Client.WaitRollout(waiting, manifests.LabNamespace, part) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return l.WaitIngress(ctx)
}

// Apply applies what Install does, and does not wait.
func (l *Lab) Apply(ctx context.Context, opts Options) error {
	progressTo(opts.Progress)("applying usher and the edge")
	edge := manifests.Edge{
		Namespace: manifests.LabNamespace, Image: l.Images.Edge, Class: IngressClass, Args: opts.EdgeArgs,
	}
	edge.Hash = hashOf(edge)
	edge.AtOnce = opts.AtOnce // how pods are replaced does not make others of them
	usher := manifests.Usher{Namespace: manifests.LabNamespace, Image: l.Images.Usher, Args: opts.UsherArgs}
	for _, render := range []func() ([]byte, error){
		func() ([]byte, error) { return manifests.Namespace(manifests.LabNamespace) },
		usher.Render,
		edge.Render,
	} {
		if err := l.apply(ctx, render); err != nil {
			return fmt.Errorf("install the lab's parts: %w", err)
		}
	}
	return nil
}

// InstallSink runs a discard server for background traffic on the given port of
// every worker's own address and waits for it. RemoveSink takes it away.
func (l *Lab) InstallSink(ctx context.Context, port int) error {
	sink := manifests.Sink{Namespace: manifests.LabNamespace, Image: l.Images.Demoapp, Port: port}
	if err := l.apply(ctx, sink.Render); err != nil {
		return fmt.Errorf("install the sink of background traffic: %w", err)
	}
	return l.Client.WaitRollout(ctx, manifests.LabNamespace, kube.Workload{Kind: kube.DaemonSet, Name: "sink"})
}

// RemoveSink takes the sink away; where there is none that is fine.
func (l *Lab) RemoveSink(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	err := l.Client.Typed.AppsV1().DaemonSets(manifests.LabNamespace).
		Delete(ctx, "sink", metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the sink of background traffic: %w", err)
	}
	return nil
}

func (l *Lab) apply(ctx context.Context, render func() ([]byte, error)) error {
	manifest, err := render()
	if err != nil {
		return err
	}
	_, err = l.Client.Apply(ctx, manifest)
	return err
}

func progressTo(w io.Writer) func(format string, args ...any) {
	if w == nil {
		w = io.Discard
	}
	return func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
}
