package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"secondhop/clusters"
	"secondhop/fixtures"
	"secondhop/internal/compare"
	"secondhop/internal/deploy"
	"secondhop/internal/failure"
	"secondhop/internal/runner"
)

// newCompareCommand puts strategies side by side.
func newCompareCommand() *cobra.Command {
	spec, artifacts, keep := clusters.DefaultSpec(), "artifacts", false
	var strategies, placements []string
	requests := uint64(6000)
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Run strategies side by side and compare them with what must come out",
		Example: "  secondhop compare\n" +
			"  secondhop compare --placements small --workers 4 --strategies endpoints,prefer-same-node,slots",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			options := compare.Options{Requests: requests}
			if options.Strategies, err = strategiesNamed(strategies); err != nil {
				return err
			}
			if options.Placements, err = placementsNamed(placements, spec.Workers); err != nil {
				return err
			}
			return runCompare(cmd.Context(), options, runner.Options{Spec: spec, Artifacts: artifacts, Keep: keep, SharesOnly: true, Progress: os.Stderr})
		},
	}
	spec.Workers = 7
	addSpecFlags(cmd.Flags(), &spec)
	cmd.Flags().StringSliceVar(&strategies, "strategies", nil, "which; none means all")
	cmd.Flags().StringSliceVar(&placements, "placements", nil, "which of A, B, C, D, small; none means A to D")
	cmd.Flags().Uint64Var(&requests, "requests", requests, "of each strategy on each placement, at least: a cell that would not tell gets more")
	cmd.Flags().StringVar(&artifacts, "artifacts", artifacts, "directory of the results")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the lab up")
	return cmd
}

func strategiesNamed(names []string) ([]deploy.Strategy, error) {
	all := deploy.Strategies()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, strategy := range all {
		known = append(known, strategy.Name)
	}
	var chosen []deploy.Strategy
	for _, name := range names {
		strategy, found := deploy.FindStrategy(name)
		if !found {
			return nil, failure.Inputf("%s", fixtures.Unknown("strategy", name, known))
		}
		chosen = append(chosen, strategy)
	}
	return chosen, nil
}

func placementsNamed(names []string, workers int) ([]compare.Placement, error) {
	if len(names) == 0 {
		names = []string{"A", "B", "C", "D"}
	}
	var known []string
	var chosen []compare.Placement
	for _, placement := range compare.Placements() {
		known = append(known, placement.Name)
	}
	for _, name := range names {
		found := false
		for _, placement := range compare.Placements() {
			if placement.Name != name {
				continue
			}
			if len(placement.Pods) > workers {
				return nil, failure.Inputf("placement %s is one of %d nodes, the lab has %d workers: add --workers %d", name, len(placement.Pods), workers, len(placement.Pods))
			}
			chosen, found = append(chosen, placement), true
		}
		if !found {
			return nil, failure.Inputf("%s", fixtures.Unknown("placement", name, known))
		}
	}
	return chosen, nil
}

// runCompare opens a lab, compares on it, and writes the table and the cells.
func runCompare(ctx context.Context, options compare.Options, open runner.Options) (err error) {
	lab, err := runner.Open(ctx, open)
	defer func() { err = closing(ctx, lab, err) }()
	if err != nil {
		return err
	}
	lab.Family = compare.Family(options)
	if err := lab.Results.Family(lab.Family); err != nil {
		return err
	}
	var cells []compare.Cell
	started := time.Now()
	err = compare.Run(ctx, lab, options, func(cell compare.Cell) error {
		cells = append(cells, cell)
		return lab.Results.Assert("placement "+cell.Placement+": "+cell.Strategy, cell.Assertions...)
	})
	text, marshalErr := json.MarshalIndent(cells, "", "  ")
	return errors.Join(err, marshalErr, os.WriteFile(filepath.Join(lab.Dir, "compare.json"), text, 0o644),
		compare.WriteTable(os.Stdout, cells), lab.Results.Phase("compared", started))
}

// closing ends a lab; what went wrong before counts more than its verdict.
func closing(ctx context.Context, lab *runner.Lab, err error) error {
	var out strings.Builder
	verdict := lab.Close(context.WithoutCancel(ctx), &out)
	fmt.Fprintln(os.Stdout, lastLineOf(out.String()))
	if err != nil {
		return err
	}
	return verdict
}

func lastLineOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
