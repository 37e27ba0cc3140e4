package images

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/internal/failure"
)

func TestProgressSaysStepElapsedAndNext(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(&out, func() time.Time { return now }, []string{"files", "programs", "image"})
	files := p.begin("files")
	now = now.Add(2 * time.Second)
	programs := p.begin("programs")
	now = now.Add(63 * time.Second)
	files(nil)
	image := p.begin("image")
	now = now.Add(10 * time.Minute)
	image(nil)
	programs(errors.New("no"))
	p.note("what now?")
	want := `[0/3  0:00] files ... (next: programs)
[0/3  0:02] programs ... (next: image)
[1/3  1:05] files: done in 1:05
[1/3  1:05] image ... (next: nothing more)
[2/3 11:05] image: done in 10:00
[2/3 11:05] programs: failed after 11:03
[2/3 11:05] what now?
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

// lines passes on each write.
type lines chan string

func (l lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

func TestWatchRepeatsItselfUntilItIsStopped(t *testing.T) {
	t.Parallel()
	out := make(lines)
	p := newProgress(out, time.Now, []string{"compile"})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.watch(ctx, "compile", time.Millisecond); close(done) }()
	for range 2 {
		if got := <-out; !strings.Contains(got, "compile: going on for 0:00") {
			t.Errorf("line = %q", got)
		}
	}
	stop()
	for {
		select {
		case <-out: // a line that was on its way
		case <-done:
			return
		}
	}
}

func TestTrackBlamesTheStopNotTheStep(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	err := track(ctx, newProgress(&out, time.Now, []string{"compile"}), "compile", func(context.Context) error {
		cancel(errors.New("interrupt signal received"))
		return errors.New("go: some half sentence")
	})
	if err == nil || err.Error() != `stopped during "compile": interrupt signal received` || !strings.Contains(failure.Cure(err), "kept") {
		t.Errorf("error = %v; cure %q", err, failure.Cure(err))
	}
}
