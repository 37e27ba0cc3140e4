package loadgen

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStallsAreNotOmitted is the self-test against coordinated omission. The
// server answers at once, except that it stands still for 300 ms in the middle.
//
//	|------ 100 requests ------|== stall ==|------ 100 requests ------|
//	                           ^ 60 requests are due in it, 5 ms apart
//
// A client that waits for its answers would see one slow request. Here, a request
// due d after the stall's start takes 300 ms - d: half of them 150 ms and more.
func TestStallsAreNotOmitted(t *testing.T) {
	t.Parallel()
	const stall, gap = 300 * time.Millisecond, 5 * time.Millisecond
	for _, connections := range []int{200, 1} {
		var once sync.Once
		var lock sync.RWMutex
		s := serve(t, func(e exchange) string {
			if e.Header.Get("X-Request-Id") == "0000000101" {
				once.Do(func() {
					lock.Lock()
					defer lock.Unlock()
					time.Sleep(stall)
				})
			}
			lock.RLock()
			defer lock.RUnlock()
			return ok("")
		})
		plan := planFor(s)
		plan.Rate, plan.Duration, plan.Count = float64(time.Second/gap), Duration(time.Minute), 260
		plan.ConnectionsPerTarget, plan.MaxConnections = min(2, connections), connections
		var text strings.Builder
		summary, err := Run(t.Context(), plan, Output{Records: &text})
		require.NoError(t, err)

		windows, err := Windows(strings.NewReader(text.String()), []Window{
			{"before", 0, 100 * gap},
			{"stall", 100 * gap, 100*gap + stall},
			{"whole", 0, time.Minute},
		})
		require.NoError(t, err)
		before, during, whole := windows[0], windows[1], windows[2]
		assert.EqualValues(t, []uint64{100, 60, 260}, []uint64{before.Requests, during.Requests, whole.Requests})
		assert.EqualValues(t, 260, summary.Requests, "the load does not wait for the server")

		// A busy machine makes it later, never sooner.
		assert.GreaterOrEqual(t, during.Response.P50, stall/2-2*gap, "%d connections", connections)
		assert.GreaterOrEqual(t, during.Response.Max, stall)
		assert.Equal(t, summary.Response, whole.Response)
		if connections > 1 {
			// Every request is on the wire at its instant: the server's fault is in its
			// service times.
			assert.GreaterOrEqual(t, during.Service.P50, stall/2-20*gap)
			continue
		}
		// With a single connection, the others wait in the generator: service times
		// look fine, which is why response times are what is reported, and the
		// lateness says so.
		assert.Less(t, during.Service.P50, stall/4)
		assert.GreaterOrEqual(t, during.Lateness.P50, stall/2-2*gap-during.Service.P50)
		assert.False(t, summary.Valid)
	}
}
