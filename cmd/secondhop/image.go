package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"secondhop/clusters/images"
)

// newImageCommand makes, lists and removes what nodes are started from.
func newImageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "image", Short: "Build, list and remove node images"}
	cmd.AddCommand(newImageBuildCommand())
	return cmd
}

func newImageBuildCommand() *cobra.Command {
	version := images.DefaultKubernetes
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Assemble a node image from Debian packages and Go modules",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			image, err := images.Build(cmd.Context(), version, images.Options{Progress: cmd.ErrOrStderr()})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), image.Ref)
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes", version, "Kubernetes version of the nodes")
	return cmd
}
