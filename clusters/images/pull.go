package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"secondhop/clusters/engine"
	"secondhop/internal/command"
)

// Time limits of a pull: a registry that answers at all does so fast, but what
// it then sends is large.
const (
	registryAnswerTime = 10 * time.Second
	pullTime           = 15 * time.Minute
)

// pull tries once to pull an image. The registry has to answer soon; only the
// download itself may take long.
func pull(ctx context.Context, ref string, opts Options) error {
	answer := opts.PullTimeout
	if answer == 0 {
		answer = registryAnswerTime
	}
	ctx, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	timer := time.AfterFunc(answer, func() { giveUp(fmt.Errorf("%w within %s", errNoProgress, answer)) })
	defer timer.Stop()
	// The client prints its first line when the registry has sent the manifest.
	out := &firstWrite{to: opts.progress(), first: func() { timer.Stop() }}
	if err := engine.Explain(command.Stream(ctx, nil, out, "docker", "pull", ref)); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errNoProgress) {
			err = cause
		}
		return fmt.Errorf("pull %s: %w", ref, err)
	}
	return nil
}

// firstWrite calls first at the first write, and passes everything on.
type firstWrite struct {
	to    io.Writer
	once  sync.Once
	first func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.once.Do(w.first)
	return w.to.Write(p)
}
