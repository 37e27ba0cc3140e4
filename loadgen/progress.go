package loadgen

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// report writes a status at once, which tells that the load has begun, and then
// each second. With each one the records so far go to the disk,
// and connections that a stall has left over are looked through.
func (r *run) report(ctx context.Context, to io.Writer) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		r.writeStatus(to, "running")
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.out.flush()
			for _, p := range r.pools {
				p.trim(r.clock.now())
			}
		}
	}
}

func (r *run) writeStatus(to io.Writer, state string) {
	// done is read first: what is in flight is then never negative.
	done := r.done.Load()
	sent := r.sent.Load()
	line, err := json.Marshal(Status{
		State: state, Elapsed: r.clock.now(), Sent: sent, Done: done, Failed: r.failed.Load(),
		InFlight: int64(sent - done), TargetsUp: r.balancer.CountUp(),
	})
	if err == nil {
		// A reader that has gone away must not end the run.
		_, _ = to.Write(append(line, '\n'))
	}
}
