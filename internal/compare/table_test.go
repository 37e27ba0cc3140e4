package compare

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"secondhop/internal/measure"
)

func TestTable(t *testing.T) {
	t.Parallel()
	cells := []Cell{
		{Strategy: "endpoints", Placement: "A", Pods: []int{4, 4, 2, 1, 1, 0}, Local: Figure{Observed: 0.1671, Expected: 1. / 6},
			Zone: Figure{Observed: 0.3333, Expected: 1. / 3}, Least: 0.98, Most: 1.01, ExpectedLeast: 1, ExpectedMost: 1},
		{Strategy: "external-local-weighted", Placement: "A", Local: Figure{Observed: 1, Expected: 1}, Zone: Figure{Observed: 1, Expected: 1},
			Drop: Figure{Observed: 0.17, Expected: 1. / 6}, Least: 0.5, Most: 4, ExpectedLeast: 0.5, ExpectedMost: 4,
			Assertions: []measure.Assertion{{Verdict: measure.Pass}, {Verdict: measure.Fail}}},
		{Strategy: "slots", Placement: "B", Pods: []int{2, 2}, Assertions: []measure.Assertion{{Verdict: measure.Inconclusive}}},
	}
	var got bytes.Buffer
	if err := WriteTable(&got, cells); err != nil {
		t.Fatal(err)
	}
	want := `placement A: pods 4,4,2,1,1,0
strategy                   local (want)     zone (want)    drops (want)     pod min     pod max
endpoints                16.7% ( 16.7%)  33.3% ( 33.3%)   0.0% (  0.0%) 0.98 (1.00) 1.01 (1.00)   ok
external-local-weighted 100.0% (100.0%) 100.0% (100.0%)  17.0% ( 16.7%) 0.50 (0.50) 4.00 (4.00) FAIL

placement B: pods 2,2
strategy                   local (want)     zone (want)    drops (want)     pod min     pod max
slots                     0.0% (  0.0%)   0.0% (  0.0%)   0.0% (  0.0%) 0.00 (0.00) 0.00 (0.00)    ?
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(got.String()) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
