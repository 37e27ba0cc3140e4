package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"secondhop/clusters"
	"secondhop/fixtures"
	"secondhop/internal/failure"
	"secondhop/internal/measure"
	"secondhop/internal/play"
	"secondhop/internal/runner"
)

// newReplayCommand plays a scenario.
func newReplayCommand() *cobra.Command {
	artifacts, keep, times := "artifacts", false, 1
	cmd := &cobra.Command{
		Use:     "replay NAME|FILE",
		Short:   "Play an incident or a scenario on the lab and judge what comes of it",
		Example: "  secondhop replay exit-at-sigterm\n  secondhop replay my-incident.yaml --times 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := fixtures.Find(args[0])
			if err != nil {
				return err
			}
			scenario, err := fixtures.Load(file.Path, file.Text, play.Vocabulary())
			if err != nil {
				return failure.Input(err, "secondhop fixture explain lists the words")
			}
			return replay(cmd.Context(), scenario, times, runner.Options{Spec: play.SpecOf(scenario), Artifacts: artifacts, Keep: keep, Progress: os.Stderr})
		},
	}
	cmd.Flags().StringVar(&artifacts, "artifacts", artifacts, "directory of the results")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the lab up")
	cmd.Flags().IntVar(&times, "times", times, "play it so often")
	return cmd
}

func replay(ctx context.Context, scenario *fixtures.Scenario, times int, open runner.Options) (err error) {
	if why := scenario.Metadata.Skip; why != "" {
		fmt.Printf("%s is skipped: %s\n", scenario.Metadata.Name, why)
		return nil
	}
	lab, err := runner.Open(ctx, open)
	defer func() { err = closing(ctx, lab, err) }()
	if err != nil {
		return err
	}
	player := play.Player{Lab: lab, Out: os.Stdout}
	for n := range times {
		verdict, err := player.Play(ctx, scenario, n)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", scenario.Metadata.Name, verdict)
	}
	return nil
}

// newIncidentsCommand lists the library's incidents, or plays them.
func newIncidentsCommand() *cobra.Command {
	artifacts, keep, run := "artifacts", false, false
	cmd := &cobra.Command{
		Use:     "incidents [NAME]...",
		Short:   "List the incidents of the library; with --run, play them and list their verdicts",
		Example: "  secondhop incidents\n  secondhop incidents --run exit-at-sigterm stale-cache",
		RunE: func(cmd *cobra.Command, names []string) error {
			scenarios, err := incidents(names)
			if err != nil {
				return err
			}
			verdicts := map[string]measure.Verdict{}
			if run {
				err = playAll(cmd.Context(), scenarios, verdicts, runner.Options{
					Spec: clusters.DefaultSpec(), Artifacts: artifacts, Keep: keep, SharesOnly: true, Progress: os.Stderr,
				})
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			for _, s := range scenarios {
				state := string(verdicts[s.Metadata.Name])
				if s.Metadata.Skip != "" {
					state = "skipped: " + s.Metadata.Skip
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Metadata.ID, s.Metadata.Name, state, s.Metadata.Summary)
			}
			if flushErr := table.Flush(); err == nil {
				err = flushErr
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&run, "run", false, "play them")
	cmd.Flags().StringVar(&artifacts, "artifacts", artifacts, "directory of the results")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the lab up")
	return cmd
}

// incidents are those of the library, or the ones of the given names.
func incidents(names []string) ([]*fixtures.Scenario, error) {
	files, err := chosen(names)
	if err != nil {
		return nil, err
	}
	var all []*fixtures.Scenario
	for _, file := range files {
		scenario, err := fixtures.Load(file.Path, file.Text, play.Vocabulary())
		if err != nil {
			return nil, err
		}
		if scenario.Kind == fixtures.KindIncident || len(names) > 0 {
			all = append(all, scenario)
		}
	}
	return all, nil
}

// playAll plays scenarios on one lab and notes their verdicts.
func playAll(ctx context.Context, scenarios []*fixtures.Scenario, verdicts map[string]measure.Verdict, open runner.Options) (err error) {
	lab, err := runner.Open(ctx, open)
	defer func() { err = closing(ctx, lab, err) }()
	if err != nil {
		return err
	}
	player := play.Player{Lab: lab, Out: os.Stdout}
	for _, scenario := range scenarios {
		if scenario.Metadata.Skip != "" {
			continue
		}
		verdict, err := player.Play(ctx, scenario, 0)
		if err != nil {
			return err
		}
		verdicts[scenario.Metadata.Name] = verdict
	}
	return nil
}
