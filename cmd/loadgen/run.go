package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"secondhop/internal/failure"
	"secondhop/loadgen"
)

func newRunCommand() *cobra.Command {
	var planPath, out string
	var urgent bool
	cmd := &cobra.Command{
		Use:   "run --plan plan.json --out DIR",
		Short: "Carry out a plan; status lines on standard output, results in DIR",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := readPlan(planPath, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if urgent {
				if err := takeRealtime(); err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "loadgen: %v; the run goes on without\n", err)
				}
			}
			_, err = loadgen.RunInto(cmd.Context(), plan, out, cmd.OutOrStdout())
			return err
		},
	}
	cmd.Flags().StringVar(&planPath, "plan", "", "file with the plan in JSON; - is standard input")
	cmd.Flags().StringVar(&out, "out", "", "directory for requests.jsonl and summary.json")
	cmd.Flags().BoolVar(&urgent, "realtime", false, "run with real-time priority if allowed (root or SYS_NICE); the summary says if it was")
	for _, name := range []string{"plan", "out"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

// maxPlan bounds what is read as a plan.
const maxPlan = 1 << 20

func readPlan(path string, stdin io.Reader) (loadgen.Plan, error) {
	from := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return loadgen.Plan{}, failure.Input(fmt.Errorf("read plan: %w", err), "")
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPlan))
	if err != nil {
		return loadgen.Plan{}, failure.Input(fmt.Errorf("read plan: %w", err), "")
	}
	return loadgen.ParsePlan(text)
}
