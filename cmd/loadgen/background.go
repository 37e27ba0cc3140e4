package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"secondhop/internal/failure"
	"secondhop/internal/units"
	"secondhop/loadgen/background"
)

func newFloodCommand() *cobra.Command {
	var flood background.Flood
	var rate string
	cmd := &cobra.Command{
		Use:   "flood --to ADDRESS [--to ADDRESS ...] --rate 20mbit --duration 30s",
		Short: "Send bytes at an exact rate to sinks; a line each second, the results last",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if flood.Rate, err = units.ParseBitRate(rate); err != nil {
				return failure.Input(fmt.Errorf("--rate: %w", err), "")
			}
			if err := flood.Validate(); err != nil {
				return err
			}
			var sent atomic.Int64
			stop := reportBytes(cmd.Context(), cmd.OutOrStdout(), "sent", &sent)
			results, err := flood.Run(cmd.Context(), &sent)
			stop()
			return printResults(cmd.OutOrStdout(), results, err)
		},
	}
	cmd.Flags().StringArrayVar(&flood.To, "to", nil, "literal address of a sink; may be given several times")
	cmd.Flags().StringVar(&rate, "rate", "", "data rate to each target, such as 20mbit")
	cmd.Flags().DurationVar(&flood.Duration, "duration", 0, "how long, at most 10m")
	for _, name := range []string{"to", "rate", "duration"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func printResults(to io.Writer, results []background.Result, failed error) error {
	for _, r := range results {
		if err := json.NewEncoder(to).Encode(r); err != nil && failed == nil {
			failed = fmt.Errorf("print results: %w", err)
		}
	}
	return failed
}

func newSinkCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "sink --listen :PORT",
		Short: "Take and forget all bytes; a line each second",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return failure.Input(fmt.Errorf("sink: %w", err), "choose another --listen")
			}
			fmt.Fprintln(cmd.OutOrStdout(), listener.Addr())
			var received atomic.Int64
			defer reportBytes(cmd.Context(), cmd.OutOrStdout(), "received", &received)()
			return background.Sink(cmd.Context(), listener.(*net.TCPListener), &received)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on; it is printed when the sink is ready")
	return cmd
}

// reportBytes prints {"elapsed":ns,"sent":bytes} at once, each second and when
// the returned function is called, which also ends it.
func reportBytes(ctx context.Context, to io.Writer, key string, count *atomic.Int64) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	start := time.Now()
	var printing sync.WaitGroup
	printing.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			fmt.Fprintf(to, "{\"elapsed\":%d,%q:%d}\n", time.Since(start), key, count.Load())
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return func() {
		cancel()
		printing.Wait()
		fmt.Fprintf(to, "{\"elapsed\":%d,%q:%d}\n", time.Since(start), key, count.Load())
	}
}
