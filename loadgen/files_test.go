package loadgen

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"secondhop/internal/failure"
	"secondhop/loadgen/pace"
)

func TestRunIntoWritesRecordsAndSummary(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("x") })
	plan := planFor(s)
	plan.Count = 10
	dir := filepath.Join(t.TempDir(), "made", "as needed")
	before, beforeMonotonic := time.Now(), pace.Monotonic()
	want, err := RunInto(t.Context(), plan, dir, io.Discard)
	require.NoError(t, err)

	got, err := ReadSummary(filepath.Join(dir, SummaryFile))
	require.NoError(t, err)
	wantText, _ := json.Marshal(want)
	gotText, _ := json.Marshal(got)
	assert.JSONEq(t, string(wantText), string(gotText))
	// Both clocks of the start mean the same instant.
	offset := (got.Start.Monotonic - beforeMonotonic) - got.Start.Wall.Sub(before)
	assert.Less(t, offset.Abs(), 100*time.Millisecond)

	records, err := os.Open(filepath.Join(dir, RecordsFile))
	require.NoError(t, err)
	defer records.Close()
	n := 0
	require.NoError(t, ReadRecords(records, func(Record) error { n++; return nil }))
	assert.Equal(t, 10, n)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, left, 2)
}

func TestRunIntoMakesNothingForABadPlan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	_, err := RunInto(t.Context(), Plan{}, dir, io.Discard)
	assert.Equal(t, 3, failure.ExitCode(err))
	assert.NoDirExists(t, dir)
}

func TestRunIntoAnUnusableDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := serve(t, func(exchange) string { return ok("") })
	_, err := RunInto(t.Context(), planFor(s), filepath.Join(file, "out"), io.Discard)
	require.ErrorContains(t, err, "results:")
	assert.Equal(t, 3, failure.ExitCode(err))
	assert.Contains(t, failure.Cure(err), "--out")
}

func TestReadSummaryErrors(t *testing.T) {
	t.Parallel()
	_, err := ReadSummary(filepath.Join(t.TempDir(), SummaryFile))
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(t.TempDir(), SummaryFile)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = ReadSummary(path)
	require.ErrorContains(t, err, path)
}
