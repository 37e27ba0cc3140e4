// Command loadgen sends HTTP load at planned instants and records every request;
// it also makes and takes the background traffic of byte scenarios.
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
	os.Exit(execute(ctx, os.Args[1:]))
}

// execute carries out one command line and returns its exit code.
func execute(ctx context.Context, args []string) int {
	root := &cobra.Command{
		Use:           "loadgen",
		Short:         "Open-loop HTTP load, recorded request by request",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return failure.Input(err, cmd.CommandPath()+" --help lists the flags")
	})
	root.AddCommand(newRunCommand(), newFloodCommand(), newSinkCommand(), newBenchServerCommand(), newBenchCommand())
	begun := false
	for _, cmd := range root.Commands() {
		carryOut := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			begun = true
			return carryOut(cmd, args)
		}
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if !begun { // cobra has refused the command line
		err = failure.Input(err, "loadgen --help lists the commands")
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "loadgen: %v\n", err)
	if cure := failure.Cure(err); cure != "" {
		fmt.Fprintf(os.Stderr, "  to cure it: %s\n", cure)
	}
	return failure.ExitCode(err)
}
