package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"secondhop/edge/haproxy"
	"secondhop/edge/runtime"
	"secondhop/edge/states"
	"secondhop/internal/failure"
)

func newStatesCommand() *cobra.Command {
	var socket string
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "states",
		Short: "Follow the states of HAProxy's servers: one line of JSON per look, until standard input ends",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every <= 0 {
				return failure.Inputf("--every %s: want a time above 0, such as 500ms", every)
			}
			ctx, stop := untilEnd(cmd.Context(), cmd.InOrStdin())
			defer stop()
			return states.Follow(ctx, every, serverReader(socket), cmd.OutOrStdout())
		},
	}
	cmd.Flags().DurationVar(&every, "every", 500*time.Millisecond, "time from one look to the next")
	socketFlag(cmd, &socket)
	return cmd
}

// untilEnd ends with the input: that is how whoever started this from outside the
// pod, and is gone, does not leave it running.
func untilEnd(ctx context.Context, input io.Reader) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, input)
		stop()
	}()
	return ctx, stop
}

func serverReader(socket string) func(context.Context) ([]haproxy.ServerStat, error) {
	return func(ctx context.Context) ([]haproxy.ServerStat, error) {
		table, err := runtime.Client{Socket: socket}.Do(ctx, "show stat")
		if err != nil {
			return nil, err
		}
		return haproxy.ParseStat(strings.NewReader(table))
	}
}
