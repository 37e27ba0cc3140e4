package main

import (
	"context"
	"io"

	"secondhop/clusters"
	"secondhop/internal/runner"
)

// equip installs what belongs on every lab.
func equip(ctx context.Context, cluster *clusters.Cluster, progress io.Writer) error {
	_, _, err := runner.Equip(ctx, cluster, progress)
	return err
}
