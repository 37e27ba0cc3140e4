// Package states follows the states of HAProxy's servers and writes down what
// changes, a line of JSON per look. Most looks find nothing new, so that following
// costs next to no bytes on a link whose bytes are being measured.
package states

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"secondhop/edge/haproxy"
)

// Sample is one look at all servers.
type Sample struct {
	At time.Time `json:"at"`
	// Changed are the servers whose state is not that of the look before; in the
	// first sample they are all servers.
	Changed []Server `json:"changed,omitempty"`
}

// Server is a server and its state.
type Server struct {
	Proxy  string `json:"proxy"`
	Server string `json:"server"`
	Status string `json:"status"` // as HAProxy words it
	Weight int    `json:"weight"`
}

// Follow looks with read, at once and then every period, and writes a Sample to
// out each time, until ctx ends or out cannot be written. A look that fails is
// left out: HAProxy may be in the middle of a reload.
func Follow(ctx context.Context, period time.Duration, read func(context.Context) ([]haproxy.ServerStat, error), out io.Writer) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	lines := json.NewEncoder(out)
	known := map[[2]string]Server{}
	for ctx.Err() == nil {
		if stats, err := read(ctx); err == nil {
			sample := Sample{At: time.Now(), Changed: changes(known, stats)}
			if err := lines.Encode(sample); err != nil {
				return fmt.Errorf("write the states of servers: %w", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}

// changes finds the servers that are new or differ from known, and notes them.
func changes(known map[[2]string]Server, stats []haproxy.ServerStat) []Server {
	var changed []Server
	for _, s := range stats {
		key, now := [2]string{s.Proxy, s.Server}, Server{s.Proxy, s.Server, s.Status, s.Weight}
		if before, seen := known[key]; !seen || before != now {
			known[key] = now
			changed = append(changed, now)
		}
	}
	return changed
}
