package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"secondhop/fixtures"
	"secondhop/internal/failure"
	"secondhop/internal/play"
)

// newFixtureCommand helps to write scenarios.
func newFixtureCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fixture",
		Short: "Check, explain and begin scenarios",
	}
	cmd.AddCommand(newValidateCommand(), newExplainCommand(), newSkeletonCommand(), newSchemaCommand())
	return cmd
}

func newValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "validate [NAME|FILE]...",
		Short:   "Say everything that is wrong with scenarios; without names, of the library",
		Example: "  secondhop fixture validate my-incident.yaml\n  secondhop fixture validate exit-at-sigterm",
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := chosen(args)
			if err != nil {
				return err
			}
			var problems fixtures.Problems
			for _, file := range files {
				_, err := fixtures.Load(file.Path, file.Text, play.Vocabulary())
				if found := (fixtures.Problems)(nil); errors.As(err, &found) {
					problems = append(problems, found...)
				} else if err != nil {
					return err
				}
			}
			if len(problems) > 0 {
				fmt.Fprintln(cmd.OutOrStdout(), problems)
				return failure.Inputf("%d problems in %d files", len(problems), len(files))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d files are fine\n", len(files))
			return nil
		},
	}
}

// chosen is the files of the given names and paths, or the whole library.
func chosen(names []string) ([]fixtures.File, error) {
	if len(names) == 0 {
		return fixtures.Library()
	}
	var files []fixtures.File
	for _, name := range names {
		file, err := fixtures.Find(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [WORD|FIELD|NAME|FILE]",
		Short:   "Say what a word or a field means, or what a scenario will do; without one, list the words",
		Example: "  secondhop fixture explain rollout\n  secondhop fixture explain traffic.rate\n  secondhop fixture explain my-incident.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			vocabulary, subject := play.Vocabulary(), strings.Join(args, "")
			file, err := fixtures.Find(subject)
			if err != nil || subject == "" {
				return vocabulary.Explain(cmd.OutOrStdout(), subject)
			}
			scenario, err := fixtures.Load(file.Path, file.Text, vocabulary)
			if err != nil {
				return failure.Input(err, "secondhop fixture explain lists the words")
			}
			return scenario.Describe(cmd.OutOrStdout())
		},
	}
}

func newSkeletonCommand() *cobra.Command {
	var incident bool
	cmd := &cobra.Command{
		Use:     "new NAME",
		Short:   "Write a scenario to start from into NAME.yaml",
		Example: "  secondhop fixture new lost-requests --incident",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := args[0] + ".yaml"
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return failure.Inputf("%s is there already: choose another name", path)
			}
			if err != nil {
				return failure.Input(fmt.Errorf("write a scenario to start from: %w", err), "choose a name and a directory that can be written")
			}
			if err := errors.Join(fixtures.WriteSkeleton(file, args[0], incident), file.Close()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: edit it, then secondhop fixture validate %s\n", path, path)
			return nil
		},
	}
	cmd.Flags().BoolVar(&incident, "incident", false, "something that goes wrong, with its source")
	return cmd
}

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON schema of scenarios, with which editors complete and check them",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fixtures.WriteSchema(cmd.OutOrStdout(), play.Vocabulary())
		},
	}
}
