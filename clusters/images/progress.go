package images

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is how often a step that goes on says so.
const heartbeat = 30 * time.Second

// progress prints what a long build does: which step of how many, how long
// it has taken, and what comes next. Steps may run side by side.
type progress struct {
	out   io.Writer
	now   func() time.Time
	start time.Time

	mu   sync.Mutex
	todo []string
	done int
	all  int
}

// newProgress announces the steps that are yet to be done, in their order.
func newProgress(out io.Writer, now func() time.Time, titles []string) *progress {
	return &progress{out: out, now: now, start: now(), todo: append([]string(nil), titles...), all: len(titles)}
}

// begin says that a step starts and what follows it; the function that it
// returns says how it ended.
func (p *progress) begin(title string) (end func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	began := p.now()
	for i, name := range p.todo {
		if name == title {
			p.todo = append(p.todo[:i], p.todo[i+1:]...)
			break
		}
	}
	next := "nothing more"
	if len(p.todo) > 0 {
		next = p.todo[0]
	}
	p.print("%s ... (next: %s)", title, next)
	return func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			p.print("%s: failed after %s", title, clock(p.now().Sub(began)))
			return
		}
		p.done++
		p.print("%s: done in %s", title, clock(p.now().Sub(began)))
	}
}

// watch repeats every period that the step goes on, until ctx ends.
func (p *progress) watch(ctx context.Context, title string, period time.Duration) {
	began := p.now()
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.mu.Lock()
			p.print("%s: going on for %s", title, clock(p.now().Sub(began)))
			p.mu.Unlock()
		}
	}
}

// note prints a line that is not about a step.
func (p *progress) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(format, args...)
}

// print wants the lock to be held.
func (p *progress) print(format string, args ...any) {
	fmt.Fprintf(p.out, "[%d/%d %5s] %s\n", p.done, p.all, clock(p.now().Sub(p.start)), fmt.Sprintf(format, args...))
}

// clock writes a duration as minutes and seconds.
func clock(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}
