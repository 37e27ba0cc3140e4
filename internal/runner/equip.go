package runner

import (
	"context"
	"fmt"
	"io"

	"secondhop/clusters"
	"secondhop/clusters/images"
	"secondhop/internal/deploy"
)

// Equip brings our own images to the nodes of a cluster and installs usher and
// the edge. It returns when every ingress answers; what is there already costs no
// more than the checks. The name of the load generator's image in the local
// engine comes with it.
func Equip(ctx context.Context, cluster *clusters.Cluster, progress io.Writer) (_ *deploy.Lab, loadgen string, _ error) {
	parts, loadgen, err := bring(ctx, cluster, progress)
	if err != nil {
		return nil, "", err
	}
	return parts, loadgen, parts.Install(ctx, deploy.Options{Progress: progress})
}

// Furnish is the part of Equip that a lab can take before it is ready; what is
// applied starts as soon as its node can run it.
func Furnish(ctx context.Context, cluster *clusters.Cluster, progress io.Writer) error {
	parts, _, err := bring(ctx, cluster, progress)
	if err != nil {
		return err
	}
	return parts.Apply(ctx, deploy.Options{Progress: progress})
}

// bring has our own images on every node.
func bring(ctx context.Context, cluster *clusters.Cluster, progress io.Writer) (_ *deploy.Lab, loadgen string, _ error) {
	archive, own, err := images.Own(ctx, images.Options{Progress: progress})
	if err != nil {
		return nil, "", fmt.Errorf("build our own images: %w", err)
	}
	if err := cluster.LoadImages(ctx, archive); err != nil {
		return nil, "", err
	}
	parts, err := deploy.New(cluster, deploy.Images{Usher: own.Usher, Edge: own.Edge, Demoapp: own.Demoapp})
	return parts, own.Loadgen, err
}
