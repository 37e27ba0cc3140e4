package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"secondhop/internal/faults"
	"secondhop/internal/trial"
)

// log notes what is done to events, and when since the start.
type log struct {
	mu      sync.Mutex
	started time.Time
	lines   []string
}

func (l *log) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, time.Since(l.started).String()+" "+what)
}

// slow is an event that takes a while.
type slow struct {
	name    string
	takes   time.Duration
	log     *log
	fails   error
	applied time.Time
}

func (s *slow) Name() string { return s.name }

func (s *slow) Apply(context.Context) error {
	s.applied = time.Now()
	s.log.add("apply " + s.name)
	return nil
}

func (s *slow) Confirm(ctx context.Context) (faults.Outcome, error) {
	if err := pass(ctx, s.takes); err != nil {
		return faults.Outcome{}, err
	}
	s.log.add("done " + s.name)
	return faults.Outcome{Applied: s.applied, Done: time.Now()}, s.fails
}

func (s *slow) Undo(context.Context) error {
	s.log.add("undo " + s.name)
	return nil
}

// play drives events on a synthetic clock and returns what was done to them.
func play(t *testing.T, events func(*log) []trial.Planned) (lines []string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &log{started: time.Now()}
		d := &driver{started: time.Now(), occurred: map[string]*occurrence{}}
		err = d.all(t.Context(), trial.Spec{Before: 5 * time.Second, Events: events(l)})
		l.add("end")
		if undo := d.inForce.Run(context.WithoutCancel(t.Context()), cleanupLimit); undo != nil {
			t.Error(undo)
		}
		lines = l.lines
	})
	return lines, err
}

func TestEventsHappenAtTheirInstants(t *testing.T) {
	t.Parallel()
	make := func(l *log, name string, takes time.Duration) func() (faults.Event, error) {
		return func() (faults.Event, error) { return &slow{name: name, takes: takes, log: l}, nil }
	}
	for name, test := range map[string]struct {
		events func(*log) []trial.Planned
		want   []string
	}{
		"in turn": {
			func(l *log) []trial.Planned {
				return trial.InTurn(&slow{name: "a", takes: 2 * time.Second, log: l}, &slow{name: "b", takes: time.Second, log: l})
			},
			[]string{"5s apply a", "7s done a", "7s undo a", "7s apply b", "8s done b", "8s undo b", "8s end"},
		},
		"relative to one that goes on": {
			func(l *log) []trial.Planned {
				return []trial.Planned{
					{Name: "late", Make: make(l, "late", 0), When: trial.When{After: "drain", Done: true, Delay: time.Second}},
					{Name: "in it", Make: make(l, "in it", 0), When: trial.When{After: "drain", Delay: 3 * time.Second}},
					{Name: "drain", Make: make(l, "drain", 10*time.Second), When: trial.When{Delay: time.Second}},
				}
			},
			[]string{"1s apply drain", "4s apply in it", "4s done in it", "11s done drain", "12s apply late", "12s done late", "12s end",
				"12s undo late", "12s undo drain", "12s undo in it"},
		},
		"for a while": {
			func(l *log) []trial.Planned {
				return []trial.Planned{{Name: "a", Make: make(l, "a", time.Second), For: 4 * time.Second}}
			},
			[]string{"5s apply a", "6s done a", "9s undo a", "9s end"},
		},
		"three times": {
			func(l *log) []trial.Planned {
				return []trial.Planned{{Name: "a", Make: make(l, "a", time.Second), For: 1, Repeat: 3, Every: 2 * time.Second}}
			},
			[]string{"5s apply a", "6s done a", "6s undo a", "8s apply a", "9s done a", "9s undo a", "11s apply a", "12s done a", "12s undo a", "12s end"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, err := play(t, test.events)
			if err != nil || !slices.Equal(lines, test.want) {
				t.Errorf("got  %q, %v\nwant %q", lines, err, test.want)
			}
		})
	}
}

// An event without effect ends the trial, is undone itself, and so is what is in force.
func TestEventWithoutEffectEndsTheTrial(t *testing.T) {
	t.Parallel()
	provoked := errors.New("not provoked")
	lines, err := play(t, func(l *log) []trial.Planned {
		return []trial.Planned{
			{Name: "good", Make: func() (faults.Event, error) { return &slow{name: "good", log: l}, nil }},
			{Name: "bad", Make: func() (faults.Event, error) { return &slow{name: "bad", log: l, fails: provoked}, nil },
				When: trial.When{After: "good", Delay: time.Second}},
			{Name: "never", Make: func() (faults.Event, error) { return &slow{name: "never", log: l}, nil },
				When: trial.When{After: "bad", Done: true}},
		}
	})
	want := []string{"5s apply good", "5s done good", "6s apply bad", "6s done bad", "6s undo bad", "6s end", "6s undo good"}
	if !errors.Is(err, provoked) || !slices.Equal(lines, want) {
		t.Errorf("got  %q, %v\nwant %q", lines, err, want)
	}
}
