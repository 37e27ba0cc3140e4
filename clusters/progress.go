package clusters

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells people what goes on and keeps what each step took.
type progress struct {
	mu     sync.Mutex
	to     io.Writer
	start  time.Time
	phases []Phase
	said   time.Time
}

func newProgress(to io.Writer) *progress {
	if to == nil {
		to = io.Discard
	}
	now := time.Now()
	return &progress{to: to, start: now, said: now}
}

// say writes one line with the time since the start.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = time.Now()
	fmt.Fprintf(p.to, "%6.1fs  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

// phase names what begins and runs it; its time is kept if it ends well.
func (p *progress) phase(name string, run func() error) error {
	p.say("%s", name)
	start := time.Now()
	if err := run(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phases = append(p.phases, Phase{name, time.Since(start)})
	return nil
}

// patience is how long a wait may go on before it says what it waits for.
const patience = 10 * time.Second

// waiting says what is still missing, if nothing has been said for a while. It
// returns miss, so that a try can end with it.
func (p *progress) waiting(miss error) error {
	p.mu.Lock()
	quiet := time.Since(p.said)
	p.mu.Unlock()
	if miss != nil && quiet > patience {
		p.say("  still waiting: %v", miss)
	}
	return miss
}
