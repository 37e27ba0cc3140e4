package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"secondhop/internal/failure"
)

const sampleResult = "../../internal/report/testdata/result.json"

func TestReportCommand(t *testing.T) {
	t.Parallel()
	foreign := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(foreign, []byte(`{"schema":"other"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		out  string
		code int
		err  string
	}{
		{name: "table", args: []string{"table", sampleResult}, out: "FAIL: 3 passed, 1 failed"},
		{name: "expectations", args: []string{"expectations", sampleResult}, out: "<---- WRONG"},
		{name: "svg", args: []string{"svg", sampleResult}, out: "</svg>"},
		{name: "junit", args: []string{"junit", sampleResult}, out: "</testsuites>"},
		{name: "no file", args: []string{"table"}, code: 3, err: "takes one result.json, not 0 arguments"},
		{name: "missing file", args: []string{"table", "nowhere.json"}, code: 3, err: "nowhere.json: no such file"},
		{name: "another program's file", args: []string{"table", foreign}, code: 3, err: `its schema is "other"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			cmd := newReportCommand()
			cmd.SetOut(&out)
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs(tc.args)
			err := cmd.Execute()
			if code := failure.ExitCode(err); code != tc.code {
				t.Fatalf("exit code %d (%v), want %d", code, err, tc.code)
			}
			if tc.err != "" && (!strings.Contains(err.Error(), tc.err) || failure.Cure(err) == "" && tc.name != "no file") {
				t.Errorf("error %q without %q or without a cure", err, tc.err)
			}
			if !strings.Contains(out.String(), tc.out) {
				t.Errorf("output without %q:\n%s", tc.out, out.String())
			}
		})
	}
}
