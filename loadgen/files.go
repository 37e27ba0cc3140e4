package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"secondhop/internal/failure"
)

// Names of the files that RunInto makes.
const (
	RecordsFile = "requests.jsonl"
	SummaryFile = "summary.json"
)

// RunInto is Run with its results in the directory dir, which is made if needed:
// requests.jsonl grows as the run goes on, summary.json appears whole at its end.
func RunInto(ctx context.Context, plan Plan, dir string, progress io.Writer) (*Summary, error) {
	plan = plan.WithDefaults()
	if err := plan.Validate(); err != nil { // before anything is made
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, failure.Input(fmt.Errorf("results: %w", err), "choose another --out")
	}
	// A summary of an earlier run must not stand beside the records of this one.
	if err := os.Remove(filepath.Join(dir, SummaryFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, failure.Input(fmt.Errorf("results: %w", err), "choose another --out")
	}
	records, err := os.Create(filepath.Join(dir, RecordsFile))
	if err != nil {
		return nil, failure.Input(fmt.Errorf("results: %w", err), "choose another --out")
	}
	summary, failed := Run(ctx, plan, Output{Records: records, Progress: progress})
	if err := records.Close(); err != nil {
		failed = errors.Join(failed, fmt.Errorf("close records: %w", err))
	}
	if summary != nil {
		failed = errors.Join(failed, summary.write(filepath.Join(dir, SummaryFile)))
	}
	return summary, failed
}

// write puts the summary in place whole or not at all.
func (s *Summary) write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.WriteFile(path+".part", append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		_ = os.Remove(path + ".part")
		return failure.Infra(fmt.Errorf("write summary: %w", err), "free disk space or choose another --out")
	}
	return nil
}

// ReadSummary reads a summary.json.
func ReadSummary(path string) (*Summary, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	var s Summary
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read summary %s: %w", path, err)
	}
	return &s, nil
}
