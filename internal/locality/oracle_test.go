package locality_test

import (
	"bufio"
	"compress/gzip"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"secondhop/internal/locality"
)

// oracleStrategies are the columns of testdata/oracle.txt.gz in their order.
var oracleStrategies = []locality.Strategy{
	locality.Endpoints, locality.InternalLocal, locality.SameZone, locality.SameNode, locality.IngressZone,
	locality.Slots, locality.TopologyAuto, locality.ExternalLocalEven, locality.ExternalLocalWeighted,
}

const (
	oracleSeed       = "20261201"
	oraclePlacements = 10_000
	// The oracle's values are rounded to 1e-8; ratios of loads go up to about 30.
	oracleTolerance = 1e-7
)

// TestExpectAgreesWithTheOracle compares every strategy on 10,000 random
// placements with values computed by an independent model.
func TestExpectAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/oracle.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "seed "+oracleSeed+" placements 10000 ") {
		t.Fatalf("header is %q, want seed %s and 10000 placements", lines.Text(), oracleSeed)
	}
	count := 0
	for ; lines.Scan(); count++ {
		compareLine(t, lines.Text())
		if t.Failed() {
			break
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if !t.Failed() && count != oraclePlacements {
		t.Fatalf("compared %d placements, want %d", count, oraclePlacements)
	}
}

func compareLine(t *testing.T, line string) {
	t.Helper()
	placement, options, want := parseLine(t, line)
	for s, strategy := range oracleStrategies {
		got, err := locality.Expect(strategy, placement, options)
		if err != nil {
			t.Fatalf("%s: %s: %v", line, strategy, err)
		}
		lowest, highest, cv := got.Balance()
		values := []float64{got.NodeLocal, got.ZoneLocal, got.Drop, lowest, highest, cv}
		if strategy == locality.Slots {
			values = append(values, got.Slot)
		}
		for f, value := range values {
			expect := want[6*s+f]
			if f == 6 {
				expect = want[len(want)-1]
			}
			if math.Abs(value-expect) > oracleTolerance {
				t.Errorf("%v zones %v %+v: %s field %d = %.8f, oracle says %.8f", placement.Pods, placement.Zones, options, strategy, f, value, expect)
			}
		}
	}
}

func parseLine(t *testing.T, line string) (locality.Placement, locality.Options, []float64) {
	t.Helper()
	head, tail, _ := strings.Cut(line, " | ")
	fields := strings.Fields(head)
	if len(fields) != 5 {
		t.Fatalf("line %q: %d fields before the bar, want 5", line, len(fields))
	}
	var p locality.Placement
	for _, k := range strings.Split(fields[0], ",") {
		p.Pods = append(p.Pods, int(number(t, k)))
	}
	p.Zones = strings.Split(fields[1], "")
	o := locality.Options{Draw: locality.Draw{Weight: number(t, fields[2]), Range: number(t, fields[3]), Slots: int(number(t, fields[4]))}}
	var want []float64
	for _, value := range strings.Fields(tail) {
		want = append(want, number(t, value)/1e8)
	}
	if len(want) != 6*len(oracleStrategies)+1 {
		t.Fatalf("line %q: %d values, want %d", line, len(want), 6*len(oracleStrategies)+1)
	}
	return p, o, want
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
