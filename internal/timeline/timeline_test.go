package timeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/internal/timeline"
)

func clock() timeline.Clock {
	return timeline.Clock{Wall: time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC), Monotonic: 100 * time.Second}
}

func TestEventsAreOrderedAndPhased(t *testing.T) {
	t.Parallel()
	tl := timeline.New(clock(), nil)
	tl.Add(timeline.Event{At: 12 * time.Second, Kind: "pod-ready", Node: "w1", Subject: "a"})
	for at, p := range []timeline.Phase{timeline.Settle, timeline.Before, timeline.During} {
		if err := tl.Begin(p, time.Duration(at)*5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	tl.AddAt(time.Date(2026, 12, 1, 4, 0, 7, 0, time.UTC), timeline.Event{Kind: "pod-gone", Node: "w2", Subject: "b"})
	tl.Add(timeline.Event{At: -time.Second, Kind: "image", Subject: "c"})
	events := tl.Events()
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%s %s %s %s", e.At, e.Phase, e.Kind, e.Subject))
	}
	want := []string{
		"-1s  image c", "0s settle phase settle", "5s before phase before", "7s before pod-gone b",
		"10s during phase during", "12s during pod-ready a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	from, to, ok := events.Span(timeline.Before)
	if !ok || from != 5*time.Second || to != 10*time.Second {
		t.Errorf("before spans %s to %s (%v), want 5s to 10s", from, to, ok)
	}
	if from, to, ok = events.Span(timeline.During); !ok || from != 10*time.Second || to != 0 {
		t.Errorf("during spans %s to %s (%v), want 10s and no end", from, to, ok)
	}
	if _, _, ok = events.Span(timeline.After); ok {
		t.Error("a phase that never began has a span")
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	events := timeline.Events{
		{At: 1, Kind: "ready", Node: "w1", Subject: "a"},
		{At: 2, Kind: "ready", Node: "w2", Subject: "b"},
		{At: 3, Kind: "gone", Node: "w1", Subject: "a"},
	}
	for _, tc := range []struct {
		name string
		got  timeline.Events
		want int
	}{
		{"kind", events.Kind("ready"), 2},
		{"node", events.Node("w1"), 2},
		{"subject", events.Subject("b"), 1},
		{"between", events.Between(2, 3), 1},
		{"chained", events.Kind("ready").Node("w1"), 1},
		{"phase", events.In(timeline.After), 0},
	} {
		if len(tc.got) != tc.want {
			t.Errorf("%s: %d events, want %d", tc.name, len(tc.got), tc.want)
		}
	}
	if e, ok := events.First(); !ok || e.At != 1 {
		t.Errorf("first is %+v, %v", e, ok)
	}
	if e, ok := events.Last(); !ok || e.At != 3 {
		t.Errorf("last is %+v, %v", e, ok)
	}
	if _, ok := events.Kind("none").First(); ok {
		t.Error("nothing has a first event")
	}
	if _, ok := events.Kind("none").Last(); ok {
		t.Error("nothing has a last event")
	}
	if diff := cmp.Diff(map[string]int{"ready": 2, "gone": 1}, events.Count()); diff != "" {
		t.Error(diff)
	}
}

func TestBeginRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		phase timeline.Phase
		at    time.Duration
		want  string
	}{
		{"unknown", "middle", 20, "only [settle before during after]"},
		{"twice", timeline.During, 20, `"during" began at 10ns`},
		{"backwards", timeline.Settle, 20, `"during" began at 10ns`},
		{"before its predecessor", timeline.After, 5, `"during" began at 10ns`},
	} {
		tl := timeline.New(clock(), nil)
		if err := tl.Begin(timeline.During, 10); err != nil {
			t.Fatal(err)
		}
		if err := tl.Begin(tc.phase, tc.at); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
}

// What many goroutines add is all there, and the lines written as they came read
// back as the same events.
func TestConcurrentAddAndRoundTrip(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tl := timeline.New(clock(), &out)
	const writers, each = 8, 200
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				tl.Add(timeline.Event{At: time.Duration(i), Kind: "sample", Subject: fmt.Sprint(w), Data: []byte(`{"v":1}`)})
				if i%50 == 0 {
					tl.Events()
				}
			}
		})
	}
	wg.Wait()
	if err := tl.Begin(timeline.Before, 50); err != nil {
		t.Fatal(err)
	}
	events := tl.Events()
	if len(events) != writers*each+1 {
		t.Fatalf("%d events, want %d", len(events), writers*each+1)
	}
	read, err := timeline.Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(events, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	var again bytes.Buffer
	if err := read.Write(&again); err != nil {
		t.Fatal(err)
	}
	if read, err = timeline.Read(&again); err != nil || len(read) != len(events) {
		t.Errorf("second round: %d events, %v", len(read), err)
	}
}

func TestReadCutOff(t *testing.T) {
	t.Parallel()
	events, err := timeline.Read(strings.NewReader("{\"at\":1,\"kind\":\"a\"}\n{\"at\":2,\"ki"))
	if err == nil || !strings.Contains(err.Error(), "event 2") || len(events) != 1 {
		t.Errorf("got %d events and %v, want the first and an error about the second", len(events), err)
	}
}

// brokenWriter fails from its second write on.
type brokenWriter struct{ writes int }

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.writes++; b.writes > 1 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriteErrorIsKept(t *testing.T) {
	t.Parallel()
	out := &brokenWriter{}
	tl := timeline.New(clock(), out)
	for range 3 {
		tl.Add(timeline.Event{Kind: "k", Subject: "s"})
	}
	if err := tl.Err(); err == nil || !strings.Contains(err.Error(), "disk full") || out.writes != 2 {
		t.Errorf("error %v after %d writes, want the first error and no further try", err, out.writes)
	}
	if n := len(tl.Events()); n != 3 {
		t.Errorf("%d events kept, want 3", n)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	c := clock()
	if at := c.FromMonotonic(103 * time.Second); at != 3*time.Second {
		t.Errorf("from monotonic: %s", at)
	}
	if at := c.FromWall(c.ToWall(5 * time.Second)); at != 5*time.Second {
		t.Errorf("to wall and back: %s", at)
	}
	generator := timeline.Clock{Wall: c.Wall, Monotonic: 130 * time.Second}
	if at := c.From(generator, 2*time.Second); at != 32*time.Second {
		t.Errorf("from the generator's clock: %s", at)
	}
	started, err := timeline.StartClock()
	if err != nil {
		t.Fatal(err)
	}
	now, err := started.Now()
	if err != nil || now < 0 || now > time.Minute {
		t.Errorf("now is %s after the start, %v", now, err)
	}
	if drift := started.FromWall(time.Now()) - now; drift < -time.Second || drift > time.Second {
		t.Errorf("the two clocks are %s apart", drift)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"at\":1,\"kind\":\"a\"}\n"))
	f.Add([]byte("{\"at\":1,\"kind\":\"phase\",\"subject\":\"before\",\"data\":[1,2]}\n\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := timeline.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := events.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := timeline.Read(&out)
		if err != nil || len(again) != len(events) {
			t.Fatalf("%d events read back as %d, %v", len(events), len(again), err)
		}
	})
}
