package main

import (
	"github.com/spf13/cobra"

	"secondhop/clusters"
)

// newDownCommand removes a lab.
func newDownCommand() *cobra.Command {
	name := clusters.DefaultSpec().Name
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove the lab and everything that belongs to it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return clusters.Down(cmd.Context(), name, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&name, "name", name, "name of the lab")
	return cmd
}
