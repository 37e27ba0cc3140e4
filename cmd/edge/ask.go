package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"secondhop/edge"
	"secondhop/edge/runtime"
	"secondhop/internal/failure"
)

func newStatCommand() *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Print HAProxy's statistics table (CSV) of the worker that serves",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd.Context(), cmd.OutOrStdout(), socket, "show stat")
		},
	}
	socketFlag(cmd, &socket)
	return cmd
}

func newRuntimeCommand() *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:   "runtime COMMAND...",
		Short: "Run a command of HAProxy's runtime API and print its answer",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd.Context(), cmd.OutOrStdout(), socket, strings.Join(args, " "))
		},
	}
	socketFlag(cmd, &socket)
	return cmd
}

func socketFlag(cmd *cobra.Command, socket *string) {
	cmd.Flags().StringVar(socket, "socket", edge.StatsSocket(defaultRunDir), "HAProxy's runtime socket")
}

func ask(ctx context.Context, out io.Writer, socket, command string) error {
	answer, err := runtime.Client{Socket: socket}.Do(ctx, command)
	if err != nil {
		return failure.Infra(err, "run this where edge runs, in its pod")
	}
	_, err = fmt.Fprint(out, answer)
	return err
}

func newReloadCommand() *cobra.Command {
	var runDir string
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the running edge reload HAProxy; returns when the new worker serves",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failure.Infra(edge.RequestReload(cmd.Context(), runDir), "run this where edge runs, in its pod")
		},
	}
	cmd.Flags().StringVar(&runDir, "run-dir", defaultRunDir, "run directory of the running edge")
	return cmd
}
