// Command edge is an ingress for Kubernetes with HAProxy inside. Without a
// subcommand it runs; the subcommands talk to the edge that runs in the same pod.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"secondhop/internal/failure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRootCommand()
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "edge: %v\n", err)
		if cure := failure.Cure(err); cure != "" {
			fmt.Fprintf(os.Stderr, "  to cure it: %s\n", cure)
		}
		os.Exit(failure.ExitCode(err))
	}
}

func newRootCommand() *cobra.Command {
	var o options
	root := &cobra.Command{
		Use:           "edge",
		Short:         "Ingress with HAProxy inside, for Ingress objects of class secondhop",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), o) },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return failure.Input(err, cmd.CommandPath()+" --help lists the flags")
	})
	o.bind(root)
	root.AddCommand(newStatCommand(), newStatesCommand(), newRuntimeCommand(), newReloadCommand())
	return root
}
