package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"secondhop/internal/failure"
	"secondhop/loadgen/bench"
)

func newBenchCommand() *cobra.Command {
	o := bench.Options{}
	urgent := false
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure loadgen on one core beside other generators, where they are installed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Rounds < 1 || o.Rounds > 100 || o.Duration < time.Second || o.Duration > time.Minute {
				return failure.Inputf("--rounds is within 1 and 100, --duration within 1s and 1m")
			}
			if _, err := exec.LookPath("taskset"); err != nil {
				return failure.Infra(fmt.Errorf("bench: %w", err), "install util-linux")
			}
			var err error
			if o.Loadgen, err = os.Executable(); err != nil {
				return fmt.Errorf("bench: own path: %w", err)
			}
			for _, tool := range []*string{&o.Wrk, &o.Vegeta} {
				if *tool, err = exec.LookPath(*tool); err != nil && !errors.Is(err, exec.ErrNotFound) {
					return failure.Input(fmt.Errorf("bench: %w", err), "")
				}
			}
			if urgent { // all that is started inherits it
				if err := takeRealtime(); err != nil {
					return failure.Infra(err, "run it as root, or without --realtime")
				}
			}
			return bench.Compare(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&o.Wrk, "wrk", "wrk", "the program wrk")
	cmd.Flags().StringVar(&o.Vegeta, "vegeta", "vegeta", "the program vegeta")
	cmd.Flags().IntVar(&o.Rounds, "rounds", 3, "rounds, of which the medians are shown")
	cmd.Flags().DurationVar(&o.Duration, "duration", 4*time.Second, "of each measurement")
	cmd.Flags().BoolVar(&urgent, "realtime", false, "give the server and all generators real-time priority over a busy machine")
	cmd.Flags().IntVar(&o.Server, "server-core", 0, "core of the server")
	cmd.Flags().IntVar(&o.Core, "core", 1, "core of the generators")
	return cmd
}
