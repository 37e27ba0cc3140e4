package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"secondhop/internal/failure"
	"secondhop/internal/report"
)

// newReportCommand shows the result of an earlier run in several forms.
func newReportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Show the result of a run again: as a table, a picture, or a list of expectations",
		Args:  cobra.NoArgs,
	}
	for _, form := range []struct {
		name, short string
		write       func(report.Result, io.Writer) error
	}{
		{"table", "Print the table, whatever did not pass, and the verdict", report.Result.WriteSummary},
		{"expectations", "Print every expectation with what was observed", report.Result.WriteExpectations},
		{"svg", "Draw local share and inbound bytes per node as an SVG picture", report.Result.WriteSVG},
		{"junit", "Print the result as JUnit XML", report.Result.WriteJUnit},
	} {
		cmd.AddCommand(&cobra.Command{
			Use:   form.name + " RESULT.json",
			Short: form.short,
			Args:  oneResult,
			RunE: func(cmd *cobra.Command, args []string) error {
				result, err := readResult(args[0])
				if err != nil {
					return err
				}
				return form.write(result, cmd.OutOrStdout())
			},
		})
	}
	return cmd
}

func oneResult(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return failure.Inputf("%s takes one result.json, not %d arguments", cmd.CommandPath(), len(args))
	}
	return nil
}

func readResult(path string) (report.Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return report.Result{}, failure.Input(fmt.Errorf("open result: %w", err), "name the result.json that a run has written")
	}
	defer file.Close()
	result, err := report.Read(file)
	if err != nil {
		return report.Result{}, failure.Input(fmt.Errorf("%s: %w", path, err), "name the result.json that a run has written")
	}
	return result, nil
}
