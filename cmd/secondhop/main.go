// Command secondhop measures how much ingress traffic crosses the network a
// second time on a Kubernetes cluster, and what happens when it is kept local.
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
	// The first signal cancels; everything then cleans up. Further ones change
	// nothing, so that an impatient second Ctrl-C cannot leave half a lab behind.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// run executes one command line and returns its exit code; a failure is one
// sentence and its cure on standard error.
func run(ctx context.Context, args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	begun := false
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	err := root.ExecuteContext(ctx)
	if !begun { // cobra has refused the command line
		err = failure.Input(err, "secondhop --help lists the commands")
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "secondhop: %v\n", err)
	if cure := failure.Cure(err); cure != "" {
		fmt.Fprintf(os.Stderr, "  to cure it: %s\n", cure)
	}
	return failure.ExitCode(err)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "secondhop",
		Short:         "Measure and prove traffic locality on Kubernetes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return failure.Input(err, cmd.CommandPath()+" --help lists the flags")
	})
	root.AddCommand(
		// one line per command, in the order in which a newcomer meets them
		newDoctorCommand(),
		newImageCommand(),
		newUpCommand(),
		newDownCommand(),
		newStatusCommand(),
		newLinksCommand(),
		newCompareCommand(),
		newReplayCommand(),
		newIncidentsCommand(),
		newFixtureCommand(),
		newReportCommand(),
		newSnippetCommand(),
	)
	return root
}
