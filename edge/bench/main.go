// Command bench compares what a request costs HAProxy with the draw and with plain
// balancing: both frontends of one process that runs edge's own configuration, on
// loopback, in short interleaved rounds, since the machine is rarely quiet.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	program := flag.String("haproxy", "", "the haproxy program (default: $SECONDHOP_HAPROXY, else haproxy in PATH)")
	rounds := flag.Int("rounds", 40, "rounds, each with both kinds in random order")
	requests := flag.Int("requests", 5000, "requests of each kind in a round")
	connections := flag.Int("connections", 32, "keep-alive connections")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *program, *rounds, *requests, *connections); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, out io.Writer, program string, rounds, requests, connections int) error {
	if rounds < 1 || connections < 1 || requests < connections {
		return errors.New("want at least one round, one connection, and a request on each connection")
	}
	program, err := find(program)
	if err != nil {
		return err
	}
	b, err := start(ctx, program)
	if err != nil {
		return err
	}
	defer b.stop()
	kinds := []kind{{"plain", b.plain}, {"draw", b.draw}}
	cost := map[string][]float64{} // microseconds of CPU a request, by round
	for i := range rounds + 1 {
		for _, k := range rand.Perm(len(kinds)) {
			micros, err := b.measure(ctx, kinds[k].address, requests, connections)
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", i, kinds[k].name, err)
			}
			if i > 0 { // the first warms up
				cost[kinds[k].name] = append(cost[kinds[k].name], micros)
			}
		}
	}
	report(out, cost, rounds, requests)
	return nil
}

type kind struct{ name, address string }

func find(program string) (string, error) {
	if program == "" {
		program = os.Getenv("SECONDHOP_HAPROXY")
	}
	if program == "" {
		program = "haproxy"
	}
	return exec.LookPath(program)
}

// report prints medians with quartiles: means would follow the worst rounds.
func report(out io.Writer, cost map[string][]float64, rounds, requests int) {
	var ratios []float64
	for i, plain := range cost["plain"] {
		ratios = append(ratios, cost["draw"][i]/plain)
	}
	fmt.Fprintf(out, "HAProxy CPU per request, %d rounds of %d requests\n", rounds, requests)
	for _, name := range []string{"plain", "draw"} {
		low, middle, high := quartiles(cost[name])
		fmt.Fprintf(out, "  %-6s %6.2f us  [%.2f .. %.2f]\n", name, middle, low, high)
	}
	low, middle, high := quartiles(ratios)
	_, plain, _ := quartiles(cost["plain"])
	_, draw, _ := quartiles(cost["draw"])
	fmt.Fprintf(out, "  draw / plain  %.3f of medians, %.3f [%.3f .. %.3f] by round (target 1.05)\n", draw/plain, middle, low, high)
}

func quartiles(values []float64) (low, middle, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	at := func(share float64) float64 { return sorted[int(share*float64(len(sorted)-1)+0.5)] }
	return at(0.25), at(0.5), at(0.75)
}
