package report_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"secondhop/internal/failure"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/report"
)

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file   string
		result report.Result
		write  func(report.Result, io.Writer) error
	}{
		{"summary.txt", sample(), report.Result.WriteSummary},
		{"expectations.txt", sample(), report.Result.WriteExpectations},
		{"result.json", sample(), report.Result.Write},
		{"junit.xml", sample(), report.Result.WriteJUnit},
		{"picture.svg", sample(), report.Result.WriteSVG},
		{"summary-failed.txt", failedProvisioning(), report.Result.WriteSummary},
		{"junit-failed.xml", failedProvisioning(), report.Result.WriteJUnit},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			got := render(t, func(out *bytes.Buffer) error { return tc.write(tc.result, out) })
			golden(t, tc.file, got)
			if strings.HasSuffix(tc.file, "xml") || strings.HasSuffix(tc.file, "svg") {
				wellFormed(t, got)
			}
		})
	}
}

func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(data))
	for {
		_, err := decoder.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}

// No line of the table is wider than 100 columns, whatever is in it.
func TestTableFits(t *testing.T) {
	t.Parallel()
	wide := row("steady state", locality.Slots, 1000, 0, 4, 4, 4, 1)
	wide.Strategy, wide.Placement = "external-local-weighted", []int{10, 10, 10, 10, 10, 10, 10, 10}
	wide.Requests, wide.Failed = 123_456_789, 98_765_432
	wide.Bytes.In = 123_456_789
	wide.Cut = &report.Cut{Observed: -12.345}
	wide.Balance.Max = 123.456
	wide.Response.P50, wide.Response.P99 = 100_000_000_000, 200_000_000_000
	out := render(t, func(out *bytes.Buffer) error {
		return report.WriteTable(out, append(sample().Rows, wide, report.Row{}))
	})
	for _, line := range strings.Split(string(out), "\n") {
		if width := utf8.RuneCountInString(line); width > report.Columns {
			t.Errorf("%d columns: %s", width, line)
		}
	}
}

func TestResultRoundTrip(t *testing.T) {
	t.Parallel()
	want := sample()
	data := render(t, func(out *bytes.Buffer) error { return want.Write(out) })
	got, err := report.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		`{"schema":"secondhop/result/v9"}`: `its schema is "secondhop/result/v9"`,
		`{}`:                               `its schema is ""`,
		`[]`:                               "read result",
		``:                                 "read result",
	} {
		if _, err := report.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	pass := measure.Equal("id", "ok", "count", 0, 0)
	fail := measure.Equal("id", "bad", "count", 1, 0)
	untold := measure.CannotTell("id", "dark", "no data")
	notProvoked := measure.Control("id", "control", false, fail)
	problem := func(class failure.Class) []report.Problem {
		return []report.Problem{{Stage: "provisioning", Error: "no disk", Class: class}}
	}
	for _, tc := range []struct {
		name       string
		assertions []measure.Assertion
		problems   []report.Problem
		unfinished bool
		tests      int
		code       int
		line       string
	}{
		{name: "pass", assertions: []measure.Assertion{pass, pass}, code: 0, line: "PASS: 2 passed"},
		{name: "fail", assertions: []measure.Assertion{pass, fail, untold}, code: 1, line: "FAIL: 1 passed, 1 failed, 1 could not be told (id bad)"},
		{name: "inconclusive", assertions: []measure.Assertion{pass, untold}, code: 2, line: "INCONCLUSIVE: 1 passed, 1 could not be told (id dark is inconclusive)"},
		{name: "not provoked", assertions: []measure.Assertion{pass, notProvoked}, code: 2, line: "INCONCLUSIVE: 1 passed, 1 could not be told (id control is not provoked)"},
		{name: "nothing", code: 2, line: "INCONCLUSIVE: 0 passed (nothing was asserted)"},
		{name: "died", assertions: []measure.Assertion{pass}, unfinished: true, code: 2, line: "INCONCLUSIVE: 1 passed (the run did not finish)"},
		{name: "died red", assertions: []measure.Assertion{fail}, unfinished: true, code: 1, line: "FAIL: 0 passed, 1 failed (id bad)"},
		{name: "infrastructure", assertions: []measure.Assertion{pass}, problems: problem(failure.Infrastructure), code: 2, line: "INCONCLUSIVE: 1 passed (provisioning: no disk)"},
		{name: "usage", problems: problem(failure.Usage), code: 3, line: "INCONCLUSIVE: 0 passed (provisioning: no disk)"},
		{name: "product", assertions: []measure.Assertion{pass}, problems: problem(failure.Product), code: 1, line: "FAIL: 1 passed (provisioning: no disk)"},
		{name: "red and infrastructure", assertions: []measure.Assertion{fail}, problems: problem(failure.Infrastructure), code: 1, line: "FAIL: 0 passed, 1 failed (id bad)"},
		{name: "over budget", assertions: []measure.Assertion{pass}, tests: 501, code: 2, line: "INCONCLUSIVE: 1 passed (501 statistical tests were made, the false-alarm budget covers 500)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := report.Result{
				Family: measure.DefaultFamily(), Tests: tc.tests, Problems: tc.problems, Finished: !tc.unfinished,
				Groups: []report.Group{{Name: "g", Assertions: tc.assertions}},
			}
			if v := r.Judge(); v.ExitCode != tc.code || v.String() != tc.line {
				t.Errorf("exit code %d, %q\nwant %d, %q", v.ExitCode, v, tc.code, tc.line)
			}
		})
	}
}

func TestRow(t *testing.T) {
	t.Parallel()
	plain, slots := row("g", locality.Endpoints, 1300, 2, 4, 4, 4, 1), row("g", locality.Slots, 1300, 0, 4, 4, 4, 1)
	slots.AddCut(plain, []float64{.8, .8, .8, .2}, .64)
	switch {
	case plain.Slot != nil || plain.Nodes[0].Slot != nil:
		t.Error("plain balancing has a slot share")
	case plain.Requests != 5202 || plain.Failed != 2:
		t.Errorf("%d of %d failed", plain.Failed, plain.Requests)
	case slots.Slot == nil || !near(slots.Slot.Expected, 65./96):
		t.Errorf("slot share %+v", slots.Slot)
	case len(slots.Nodes) != 4 || slots.Nodes[3].Pods != 1 || !near(slots.Nodes[3].Local.Expected, 7./26):
		t.Errorf("nodes %+v", slots.Nodes)
	case slots.Cut == nil || slots.Cut.Predicted != .64 || !near(slots.Cut.Observed, 1-slots.Bytes.In/plain.Bytes.In):
		t.Errorf("cut %+v", slots.Cut)
	case slots.Nodes[3].Cut == nil || slots.Nodes[3].Cut.Observed > .3 || slots.Nodes[0].Cut.Observed < .7:
		t.Errorf("cuts of nodes %+v %+v", slots.Nodes[0].Cut, slots.Nodes[3].Cut)
	}
	p, e := expect(locality.Slots, 4, 4, 4, 1)
	empty := report.RowOf("g", p, nodes(), e, measure.NewTally())
	empty.AddBytes([]measure.Traffic{{}, {}, {}, {}}, nil)
	empty.AddCut(plain, nil, 0)
	if empty.Local != nil || empty.Balance != nil || empty.Response != nil || empty.Bytes != nil || empty.Cut != nil {
		t.Errorf("a row of nothing: %+v", empty)
	}
}

func TestNoPicture(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string][]report.Row{
		"no rows":          nil,
		"only one of them": {row("g", locality.Slots, 100, 0, 4, 4, 4, 1)},
		"other placements": {row("g", locality.Slots, 100, 0, 4, 4, 4, 1), row("g", locality.Endpoints, 100, 0, 2, 2, 0, 1)},
	} {
		if err := (report.Result{Rows: rows}).WriteSVG(io.Discard); err == nil || !strings.Contains(err.Error(), "no rows of endpoints and slots") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
