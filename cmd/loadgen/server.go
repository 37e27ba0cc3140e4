package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"secondhop/internal/failure"
	"secondhop/loadgen/bench"
)

func newBenchServerCommand() *cobra.Command {
	var listen string
	var size int
	cmd := &cobra.Command{
		Use:   "bench-server",
		Short: "Answer HTTP requests as cheaply as possible, to measure generators against",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if size < 0 || size > 1<<20 {
				return failure.Inputf("--size %d: an answer has 0 to %d bytes", size, 1<<20)
			}
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return failure.Input(fmt.Errorf("bench server: %w", err), "choose another --listen")
			}
			fmt.Fprintln(cmd.OutOrStdout(), listener.Addr())
			return bench.Serve(cmd.Context(), listener, size)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on; it is printed when the server is ready")
	cmd.Flags().IntVar(&size, "size", 200, "bytes of each answer's body")
	return cmd
}
