package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"secondhop/clusters/images"
)

// newImageCommand makes, lists and removes what nodes are started from.
func newImageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "image", Short: "Build, list and remove node images"}
	cmd.AddCommand(newImageBuildCommand(), newImageBinariesCommand(), newImageListCommand(), newImageRemoveCommand())
	return cmd
}

func newImageBuildCommand() *cobra.Command {
	version, fromSource := images.DefaultKubernetes, false
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Provide a node image: found, pulled, or assembled from Debian packages and Go modules",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			provide := images.Ensure
			if fromSource {
				provide = images.Build
			}
			image, err := provide(cmd.Context(), version, images.Options{Progress: cmd.ErrOrStderr()})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "node image for Kubernetes %s, %s, %s\n", image.Kubernetes, image.Source, image.Digest)
			fmt.Fprintln(cmd.OutOrStdout(), image.Ref)
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes", version, "Kubernetes version of the nodes")
	cmd.Flags().BoolVar(&fromSource, "from-source", fromSource, "assemble it even if one could be pulled")
	return cmd
}

func newImageBinariesCommand() *cobra.Command {
	version, quiet := images.DefaultKubernetes, false
	cmd := &cobra.Command{
		Use:   "binaries",
		Short: "Print a directory with the kube-apiserver, kubectl and etcd of a node image, building them if need be",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.ErrOrStderr()
			if quiet {
				out = io.Discard
			}
			dir, err := images.Binaries(cmd.Context(), version, images.Options{Progress: out})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes", version, "Kubernetes version of the programs")
	cmd.Flags().BoolVar(&quiet, "quiet", quiet, "print nothing but the directory")
	return cmd
}

func newImageListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the lab's images in the engine and the finished steps in the cache",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listing, err := images.List(cmd.Context())
			if err != nil {
				return err
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(out, "WHERE\tNAME\tSIZE")
			for _, item := range listing {
				fmt.Fprintf(out, "%s\t%s\t%s\n", item.Where, item.Name, item.Size)
			}
			return out.Flush()
		},
	}
}

func newImageRemoveCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "rm [NAME...]",
		Short: "Remove images and cached steps by the names that ls prints, or all of them",
		RunE: func(cmd *cobra.Command, names []string) error {
			return images.Remove(cmd.Context(), cmd.OutOrStdout(), all, names)
		},
	}
	cmd.Flags().BoolVar(&all, "all", all, "remove everything that ls lists")
	return cmd
}
