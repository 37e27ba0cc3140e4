package runner

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"secondhop/internal/failure"
	"secondhop/internal/report"
)

// finish closes the results, prints them for people and turns them into the error
// that the run ends with, if any.
func (l *Lab) finish(out io.Writer, cleanupErr error) error {
	if l.Results == nil {
		return cleanupErr
	}
	result, err := l.Results.Finish()
	if err != nil {
		return errors.Join(cleanupErr, err)
	}
	if err := result.WriteSummary(out); err != nil {
		return errors.Join(cleanupErr, fmt.Errorf("print the results: %w", err))
	}
	if _, err := fmt.Fprintf(out, "results: %s\n", filepath.Join(l.Dir, report.ResultFile)); err != nil {
		return errors.Join(cleanupErr, err)
	}
	return errors.Join(cleanupErr, verdictError(result.Verdict))
}

// verdictError is nil for a run in which everything passed.
func verdictError(v report.Verdict) error {
	if v.ExitCode == 0 {
		return nil
	}
	return &failure.Error{Class: failure.Class(v.ExitCode), Err: fmt.Errorf("%s: %s", v.Outcome, v.Reason)}
}
