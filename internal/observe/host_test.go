package observe

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/clusters/links"
)

const statText = `cpu  100 10 50 800 20 1 9 10 0 0
cpu0 50 5 25 400 10 1 5 5 0 0
cpu1 50 5 25 400 10 0 4 5 0 0
intr 12345 0 0
ctxt 99
`

func TestParseStat(t *testing.T) {
	t.Parallel()
	cpus, ticks, err := parseStat(statText)
	if err != nil || cpus != 2 {
		t.Fatalf("%d processors, %v", cpus, err)
	}
	if want := [8]uint64{100, 10, 50, 800, 20, 1, 9, 10}; ticks != want {
		t.Errorf("ticks %v, want %v", ticks, want)
	}
	for _, bad := range []string{"", "cpu 1 2 3\ncpu0 1 2 3\n", "cpu a b c d e f g h\ncpu0 1\n", "cpu0 1 2 3 4 5 6 7 8\n"} {
		if _, _, err := parseStat(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(statText)
	f.Fuzz(func(t *testing.T, text string) { parseStat(text) })
}

func TestParsePressure(t *testing.T) {
	t.Parallel()
	got, err := parsePressure("some avg10=1.20 avg60=0.50 avg300=0.10 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n")
	if err != nil || got != 1500*time.Millisecond {
		t.Errorf("pressure %s, %v", got, err)
	}
	if _, err := parsePressure("full total=1\n"); err == nil {
		t.Error("a text without the line was accepted")
	}
}

func TestHostHealth(t *testing.T) {
	t.Parallel()
	start := time.Unix(100, 0)
	before := hostReading{at: start, cpus: 2, ticks: [8]uint64{100, 0, 100, 1000, 100, 0, 100, 50}, pressure: time.Second}
	after := hostReading{
		at: start.Add(10 * time.Second), cpus: 2, load1: 3.5,
		ticks: [8]uint64{600, 100, 300, 1600, 90, 0, 400, 350}, pressure: 6 * time.Second,
	}
	got := hostHealth(before, after)
	want := HostHealth{Window: 10 * time.Second, CPUs: 2, Idle: .3, User: .3, System: .1, SoftIRQ: .15, Steal: .15, Load1: 3.5, Pressure: .5}
	if diff := cmp.Diff(want, got, nearly()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	after.pressure = -1
	if got := hostHealth(before, after); got.Pressure >= 0 {
		t.Errorf("pressure %v of a machine that has none", got.Pressure)
	}
	if got := hostHealth(before, before); math.IsNaN(got.Idle) {
		t.Error("a window without a tick gives no numbers")
	}
}

func nearly() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
}

func TestReadHostOfThisMachine(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/stat"); err != nil {
		t.Skip("needs /proc/stat")
	}
	reading, err := readHost("/proc")
	if err != nil || reading.cpus < 1 || reading.ticks[tickIdle] == 0 {
		t.Errorf("%+v, %v", reading, err)
	}
	if _, err := readHost(t.TempDir()); err == nil || !strings.Contains(err.Error(), "stat") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestReadHostWithoutPressure(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	for name, text := range map[string]string{"stat": statText, "loadavg": "0.10 0.20 0.30 1/99 1234\n"} {
		must(t, os.WriteFile(filepath.Join(proc, name), []byte(text), 0o644))
	}
	reading, err := readHost(proc)
	if err != nil || reading.pressure >= 0 || reading.load1 != .1 {
		t.Errorf("%+v, %v", reading, err)
	}
}

func TestParseFacts(t *testing.T) {
	t.Parallel()
	got, err := parseFacts("iptables\ncubic\n6.18.5\n")
	if want := (Facts{"iptables", "cubic", "6.18.5"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseFacts("cubic\n6.18.5\n"); err == nil {
		t.Error("a missing fact was accepted")
	}
}

func TestLinkDeltas(t *testing.T) {
	t.Parallel()
	at := time.Unix(50, 0)
	reading := func(seconds int, in, out int64) map[string]links.Counters {
		return map[string]links.Counters{"w1": {
			At: at.Add(time.Duration(seconds) * time.Second), In: links.Counter{Bytes: unitsOf(in), Packets: 1}, Out: links.Counter{Bytes: unitsOf(out)},
		}}
	}
	got, err := linkDeltas(reading(0, 100, 200), reading(8, 1100, 1_000_200))
	must(t, err)
	if d := got["w1"]; d.In.Bytes != 1000 || d.Out.Bytes != 1_000_000 || d.InRate() != 1000 || d.OutRate() != 1_000_000 {
		t.Errorf("%+v: %s in, %s out", d, d.InRate(), d.OutRate())
	}
	if _, err := linkDeltas(reading(0, 100, 200), reading(8, 50, 300)); err == nil || !strings.Contains(err.Error(), "shaped anew") {
		t.Errorf("counters that went back: %v", err)
	}
	if _, err := linkDeltas(nil, reading(8, 50, 300)); err == nil {
		t.Error("a link without a first reading was accepted")
	}
}
