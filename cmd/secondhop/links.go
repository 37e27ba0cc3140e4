package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"secondhop/clusters"
	"secondhop/clusters/links"
)

// newLinksCommand groups what can be done with the links of a lab.
func newLinksCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "links", Short: "Measure the links of the lab"}
	cmd.AddCommand(newCalibrateCommand())
	return cmd
}

func newCalibrateCommand() *cobra.Command {
	name, file := clusters.DefaultSpec().Name, ""
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure what TCP gets through each link, in both directions, against the ideal",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lock, err := clusters.Acquire(name, commandLine(cmd))
			if err != nil {
				return err
			}
			defer lock.Release()
			cluster, err := clusters.Running(cmd.Context(), name)
			if err != nil {
				return err
			}
			calibration, err := cluster.Calibrate(cmd.Context(), links.DefaultPlan())
			if err != nil {
				return err
			}
			if err := printCalibration(cmd.OutOrStdout(), calibration); err != nil {
				return err
			}
			if err := saveJSON(file, calibration); err != nil {
				return err
			}
			return calibration.Verdict()
		},
	}
	cmd.Flags().StringVar(&name, "name", name, "name of the lab")
	cmd.Flags().StringVar(&file, "output", file, "file for the result as JSON")
	return cmd
}

func printCalibration(out io.Writer, calibration links.Calibration) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "LINK\tDIRECTION\tRATE\tIDEAL Mb/s\tMEASURED Mb/s\tOF IDEAL\tWIRE Mb/s\tDROPS\tTCP\tIDLE\t")
	for _, g := range calibration.Goodputs {
		fmt.Fprintf(table, "%s\t%s\t%s\t%.1f\t%.1f\t%.2f %%\t%.1f\t%d\t%s\t%.0f %%\t\n", g.Node, g.Direction, g.Rate,
			float64(g.Ideal)/1e6, float64(g.Measured)/1e6, g.Ratio()*100, float64(g.Wire)/1e6, g.Drops, g.Congestion, g.HostIdle*100)
	}
	return table.Flush()
}

// saveJSON writes value to file; an empty name stands for no file.
func saveJSON(file string, value any) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("save the result: %w", err)
	}
	return nil
}
