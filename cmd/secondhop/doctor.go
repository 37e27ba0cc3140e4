package main

import (
	"errors"

	"github.com/spf13/cobra"

	"secondhop/clusters/doctor"
	"secondhop/clusters/images"
	"secondhop/internal/failure"
)

// newDoctorCommand looks at the machine, and repairs it or takes that back.
func newDoctorCommand() *cobra.Command {
	var fix, undo bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what the lab needs of this machine, and repair it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fix && undo {
				return failure.Input(errors.New("--fix and --undo exclude each other"), "give one of them")
			}
			if undo {
				return doctor.Undo(cmd.Context(), cmd.OutOrStdout())
			}
			_, err := doctor.Run(cmd.Context(), doctor.Checks(images.OfficialRef(images.DefaultKubernetes)), fix, cmd.OutOrStdout())
			return err
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", fix, "repair what is missing (as root on Debian)")
	cmd.Flags().BoolVar(&undo, "undo", undo, "take back what --fix changed")
	return cmd
}
