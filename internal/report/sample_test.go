package report_test

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/internal/failure"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/report"
	"secondhop/internal/units"
	"secondhop/loadgen"
	"secondhop/loadgen/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", name, diff)
	}
}

func nodes() []string {
	return []string{"secondhop-worker", "secondhop-worker2", "secondhop-worker3", "secondhop-worker4"}
}

// tally is requests that follow the expected values as exactly as whole numbers can.
func tally(e locality.Expected, perNode, failed int) *measure.Tally {
	t := measure.NewTally()
	names := nodes()
	turns := make([]int, len(names))
	for i, ingress := range names {
		owed, owedSlots := make([]float64, len(names)), 0.0
		for n := range perNode {
			best := 0
			for j := range names {
				owed[j] += e.Route[i][j]
				if owed[j] > owed[best] {
					best = j
				}
			}
			owed[best]--
			server := "reg0"
			if owedSlots += e.SlotAt[i]; best == i && owedSlots >= 1 {
				server = "slot0"
				owedSlots--
			}
			turns[best]++
			at := time.Duration(n) * time.Millisecond
			t.Add(loadgen.Record{
				Node: ingress, Scheduled: at, Sent: at, Done: at + time.Duration(1400+n%9000)*time.Microsecond, Status: 200,
				IngressNode: ingress, PodNode: names[best], Pod: names[best] + string(rune('a'+turns[best]%max(1, len(e.Load[best])))), Server: server,
			})
		}
	}
	for range failed {
		t.Add(loadgen.Record{Node: names[0], Class: wire.Status})
	}
	return t
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func expect(s locality.Strategy, pods ...int) (locality.Placement, locality.Expected) {
	p := locality.Placement{Pods: pods}
	return p, must(locality.Expect(s, p, locality.Options{}))
}

// row is a row with bytes as the wire model has them, 2 % more than predicted.
func row(group string, s locality.Strategy, perNode, failed int, pods ...int) report.Row {
	p, e := expect(s, pods...)
	r := report.RowOf(group, p, nodes(), e, tally(e, perNode, failed))
	var traffic []measure.Traffic
	var predicted []float64
	for _, n := range locality.Bytes(e, locality.SameOnBothHops(100, 24790), locality.EthernetWire()) {
		traffic = append(traffic, measure.Traffic{In: 1.02 * n.In() * 1000, Out: 1.02 * n.Out() * 1000, Requests: 1000})
		predicted = append(predicted, n.In())
	}
	r.AddBytes(traffic, predicted)
	return r
}

// sample is a whole result with everything in it that can be there.
func sample() report.Result {
	plain, slots := row("steady state", locality.Endpoints, 2000, 0, 4, 4, 4, 1), row("steady state", locality.Slots, 2000, 0, 4, 4, 4, 1)
	slots.AddCut(plain, []float64{.83, .83, .83, .21}, .639)
	rolling := row("rolling update, all pods at once", locality.Slots, 500, 3, 2, 2, 0, 1)
	rolling.Bytes = nil
	started := time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC)
	f := measure.DefaultFamily()
	r := report.Result{
		Schema: report.Schema, Started: started, Updated: started.Add(11 * time.Minute), Finished: true,
		Environment: report.Environment{
			CPUs: 2, Memory: 8 * units.Gibibyte, Arch: "amd64", Kernel: "6.18.0", Docker: "28.5.2", HAProxy: "3.0.11",
			Kubernetes: "1.34.4", Image: "secondhop/node:1.34.4", ImageDigest: "sha256:0123", ImageSource: "assembled", Workers: 4, Zones: 2,
			ProxyMode: "iptables", Link: units.Gigabit, CongestionControl: "cubic", GitCommit: "6f04be4", Seed: 7, Command: "make e2e",
		},
		Family:      f,
		Calibration: []report.Calibration{{Node: nodes()[0], Direction: "in", Rate: units.Gigabit, Goodput: 955 * units.Megabit, Ideal: 956 * units.Megabit}},
		Phases:      []report.Phase{{Name: "cluster up", Started: started, Seconds: 51.25}},
		Rows:        []report.Row{plain, slots, rolling},
		Groups: []report.Group{
			{Name: "TestLocalShare/slots", Assertions: []measure.Assertion{
				f.Share("local-share", "slots 4,4,4,1", measure.Share{Hits: 29_232, N: 40_000}, .7308),
				measure.Drops("drops", "slots 4,4,4,1", 0, 40_000, nil),
			}},
			{Name: "TestRollingUpdate", Assertions: []measure.Assertion{
				measure.Drops("drops", "rolling update <all>", 3, 2_003, map[string]int64{"status": 3}),
				measure.AtMost("recovery", "rolling update <all>", "seconds", 8, 15),
				measure.CannotTell("slots-held-twice", "rolling update <all>", "the watch was interrupted\x00"),
			}},
		},
		Tests:     1,
		Artifacts: []report.Artifact{{Path: "requests.jsonl", What: "every request"}},
	}
	r.Verdict = r.Judge()
	return r
}

func failedProvisioning() report.Result {
	err := failure.Infra(errors.New("create node container: disk is full"), "free 4 GiB and run it again")
	r := report.Result{Schema: report.Schema, Started: time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC),
		Problems: []report.Problem{{Stage: "provisioning", Error: err.Error(), Cure: failure.Cure(err), Class: failure.Infrastructure}}}
	r.Updated = r.Started
	r.Verdict = r.Judge()
	return r
}

func render(t *testing.T, write func(*bytes.Buffer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
