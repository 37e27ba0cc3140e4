package trial_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"secondhop/internal/measure"
	"secondhop/internal/trial"
	"secondhop/loadgen"
)

// request is the n-th of a run at 1,000 a second.
func request(n int) loadgen.Record {
	at := time.Duration(n) * time.Millisecond
	node := fmt.Sprintf("w%d", 1+n%4)
	return loadgen.Record{
		ID: uint64(n), Node: node, Scheduled: at, Sent: at + 10*time.Microsecond, FirstByte: at + time.Millisecond,
		Done: at + time.Duration(1000+n*7919%4000)*time.Microsecond, Status: 200, Bytes: 1024,
		IngressNode: node, Server: fmt.Sprintf("slot%d", n%4), Pod: fmt.Sprintf("my-app-%d-7d4b9c6f5d-x%d", 1+n%4, n%4),
		PodNode: fmt.Sprintf("w%d", 1+n%3), Reused: true, Port: uint16(20000 + n%512),
	}
}

// writeRequests writes n requests to a file as the load generator does.
func writeRequests(tb testing.TB, n int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), loadgen.RecordsFile)
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	out := bufio.NewWriter(file)
	var line []byte
	for i := range n {
		r := request(i)
		line = r.AppendJSON(line[:0])
		if _, err := out.Write(line); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestRequestsAreCountedByWindow(t *testing.T) {
	t.Parallel()
	requests, err := trial.OpenRequests(writeRequests(t, 3000))
	if err != nil {
		t.Fatal(err)
	}
	if want := 2999*time.Millisecond + 1; requests.End() != want {
		t.Errorf("end %s, want %s", requests.End(), want)
	}
	windows := []measure.Window{{}, {To: time.Second}, {From: time.Second, To: 1500 * time.Millisecond}, {From: 2 * time.Second}, {From: time.Minute, To: time.Hour}}
	tallies, err := requests.Tallies(windows...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{3000, 1000, 500, 1000, 0} {
		if tallies[i].Requests != want {
			t.Errorf("window %d has %d requests, want %d", i, tallies[i].Requests, want)
		}
	}
	again, err := requests.Tallies(measure.Window{To: time.Second})
	if err != nil || again[0] != tallies[1] {
		t.Errorf("a window is counted twice, %v", err)
	}
}

func TestRequestsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if _, err := trial.OpenRequests(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	path := writeRequests(t, 10)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trial.OpenRequests(path); err == nil || !strings.Contains(err.Error(), "line 10") {
		t.Errorf("a line that was cut off: %v", err)
	}
	gone := writeRequests(t, 10)
	requests, err := trial.OpenRequests(gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := requests.Tallies(measure.Window{To: time.Millisecond}); err == nil {
		t.Error("requests that are gone are counted")
	}
}

// BenchmarkRequests shows what a run costs to judge: time grows with the number of
// requests, what stays in memory (live-B) does not.
func BenchmarkRequests(b *testing.B) {
	phases := []measure.Window{{To: 2 * time.Second}, {From: 2 * time.Second, To: 5 * time.Second}, {From: 5 * time.Second}}
	for _, n := range []int{10_000, 500_000, 1_000_000} {
		path := writeRequests(b, n)
		for name, count := range map[string]func(*trial.Requests) error{
			"one reading": func(r *trial.Requests) error { _, err := r.Tallies(phases...); return err },
			"a reading each": func(r *trial.Requests) error {
				for _, phase := range phases {
					if _, err := r.Tallies(phase); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				var live uint64
				for b.Loop() {
					before := heap()
					requests, err := trial.OpenRequests(path)
					if err != nil {
						b.Fatal(err)
					}
					if err := count(requests); err != nil {
						b.Fatal(err)
					}
					live = heap() - before
					runtime.KeepAlive(requests)
				}
				b.ReportMetric(float64(live), "live-B")
			})
		}
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
