package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"secondhop/loadgen/wire"
)

func TestRunSpreadsEvenlyAndRecordsEverything(t *testing.T) {
	t.Parallel()
	var hosts sync.Map
	answer := func(e exchange) string {
		hosts.Store(e.Host+" "+e.URL.String()+" "+e.Header.Get("X-Request-Id"), true)
		return ok("hello")
	}
	servers := []*server{serve(t, answer), serve(t, answer), serve(t, answer)}
	plan := planFor(servers...)
	plan.Count = 99
	plan.Path = "/?size=5"
	summary, records := runPlan(t, t.Context(), plan)

	assert.Equal(t, map[string]uint64{"w1": 33, "w2": 33, "w3": 33}, summary.ByTarget, "strict round robin")
	for _, s := range servers {
		assert.EqualValues(t, 33, s.requests.Load())
	}
	assert.Equal(t, map[string]uint64{"ok": 99}, summary.ByClass)
	assert.Equal(t, map[string]uint64{"200": 99}, summary.ByStatus)
	assert.Equal(t, map[string]map[string]uint64{"w1": {"slot0": 99}}, summary.ByServer)
	assert.Equal(t, map[string]uint64{"p1": 99}, summary.ByPod)
	assert.EqualValues(t, 99*5, summary.BodyBytes)
	assert.EqualValues(t, 500, summary.Offered)
	for i, r := range records {
		assert.Equal(t, time.Duration(i)*2*time.Millisecond, r.Scheduled)
		assert.Equal(t, fmt.Sprintf("w%d", i%3+1), r.Node)
		assert.LessOrEqual(t, r.Scheduled, r.Sent)
		assert.Less(t, r.Sent, r.FirstByte)
		assert.LessOrEqual(t, r.FirstByte, r.Done)
		assert.Equal(t, []any{200, wire.OK, int64(5), "w1", "slot0", "p1", "w2"},
			[]any{r.Status, r.Class, r.Bytes, r.IngressNode, r.Server, r.Pod, r.PodNode})
		assert.Equal(t, r.Reused, r.Connect == 0, "a connection is opened or reused")
		assert.NotZero(t, r.Port)
		_, seen := hosts.Load(fmt.Sprintf("my-app /?size=5 %010d", r.ID))
		assert.True(t, seen, "request %d arrived with its id", r.ID)
	}
}

func TestKeepAliveOpensItsConnectionsAndKeepsThem(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("") })
	plan := planFor(s)
	plan.Rate, plan.ConnectionsPerTarget, plan.Duration = 200, 4, Duration(500*time.Millisecond)
	summary, records := runPlan(t, t.Context(), plan)
	byPort := make(map[uint16]int)
	for _, r := range records {
		byPort[r.Port]++
	}
	// More than four only if all four were busy when a request came due.
	assert.GreaterOrEqual(t, len(byPort), 4)
	assert.Len(t, byPort, int(summary.Connections.Opened))
	assert.EqualValues(t, summary.Connections.Opened, s.connections.Load())
	assert.Zero(t, summary.Connections.ClosedByPeer)
}

func TestConnectionPerRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, func(e exchange) string {
		if !e.Close {
			return "HTTP/1.1 400 no close\r\nContent-Length: 0\r\n\r\n"
		}
		return ok("x")
	})
	plan := planFor(s)
	plan.Connection, plan.Count = PerRequest, 50
	summary, records := runPlan(t, t.Context(), plan)
	assert.Equal(t, map[string]uint64{"ok": 50}, summary.ByClass)
	assert.EqualValues(t, 50, s.connections.Load())
	assert.EqualValues(t, 50, summary.Connections.Opened)
	assert.EqualValues(t, 50, summary.Connect.N)
	for _, r := range records {
		assert.False(t, r.Reused)
		assert.Positive(t, r.Connect)
	}
}

func TestPostSendsItsBody(t *testing.T) {
	t.Parallel()
	var received atomic.Int64
	s := serve(t, func(e exchange) string { received.Add(e.ContentLength); return ok("") })
	plan := planFor(s)
	plan.Method, plan.BodyBytes, plan.Count = "POST", 100_000, 20
	summary, _ := runPlan(t, t.Context(), plan)
	assert.Equal(t, map[string]uint64{"ok": 20}, summary.ByClass)
	assert.EqualValues(t, 20*100_000, received.Load())
	assert.Greater(t, summary.RequestBytes, 100_000)
}

func TestByConnectionSpreadsConnections(t *testing.T) {
	t.Parallel()
	a := serve(t, func(exchange) string { return ok("") })
	b := serve(t, func(exchange) string { return ok("") })
	plan := planFor(a, b)
	plan.SpreadBy, plan.Spread, plan.Targets[0].Weight, plan.ConnectionsPerTarget = ByConnection, SpreadWeighted, 3, 4
	plan.Rate = 200
	summary, _ := runPlan(t, t.Context(), plan)
	assert.EqualValues(t, summary.Connections.Opened, a.connections.Load()+b.connections.Load())
	if summary.Connections.Opened == 8 { // none was held up: weights 3 and 1
		assert.EqualValues(t, 6, a.connections.Load())
	}
	assert.Positive(t, b.requests.Load())
}

// TestClasses provokes each failure on a real connection.
func TestClasses(t *testing.T) {
	t.Parallel()
	linger := func(e exchange) { _ = e.conn.SetLinger(0) } // the close becomes a reset
	for class, answer := range map[wire.Class]func(exchange) string{
		wire.EOF:       func(exchange) string { return "" },
		wire.Reset:     func(e exchange) string { linger(e); return "" },
		wire.Truncated: func(e exchange) string { return cut(e, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") },
		wire.Malformed: func(exchange) string { return "SSH-2.0-x\r\n\r\n" },
		wire.Unframed:  func(e exchange) string { return cut(e, "HTTP/1.1 200 OK\r\n\r\nabc") },
		wire.Status:    func(exchange) string { return "HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n" },
		wire.Timeout:   func(e exchange) string { <-e.Context().Done(); return "" },
	} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			stall := make(chan struct{})
			s := serve(t, func(e exchange) string {
				if class == wire.Timeout {
					<-stall
					return ""
				}
				return answer(e)
			})
			t.Cleanup(func() { close(stall) })
			plan := planFor(s)
			plan.Count, plan.Timeout = 5, Duration(50*time.Millisecond)
			if class != wire.Timeout {
				plan.Timeout = Duration(10 * time.Second)
			}
			summary, records := runPlan(t, t.Context(), plan)
			assert.Equal(t, map[string]uint64{string(class): 5}, summary.ByClass)
			assert.EqualValues(t, 5, summary.Failed)
			assert.EqualValues(t, 5, s.requests.Load(), "nothing is sent twice")
			for _, r := range records {
				assert.Equal(t, class == wire.Status, r.Detail == "", "an error is told in words: %+v", r)
			}
		})
	}
}

// cut writes text and then ends the connection.
func cut(e exchange, text string) string {
	_, _ = e.conn.Write([]byte(text))
	return ""
}

func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("") })
	s.close()
	plan := planFor(s)
	plan.Count, plan.Limits = 5, &Limits{LatenessP99: Duration(time.Minute), CPU: 1} // however busy the machine
	summary, records := runPlan(t, t.Context(), plan)
	assert.Equal(t, map[string]uint64{"connect": 5}, summary.ByClass)
	assert.Contains(t, records[0].Detail, "refused")
	assert.Equal(t, "w1", records[0].Node)
	assert.True(t, summary.Valid, "that is the system's fault, not the generator's: %v", summary.Reasons)
}

// TestReusedConnectionClosedWithoutAnswer: HAProxy closes a kept connection
// instead of answering; a client that retries would hide that.
func TestReusedConnectionClosedWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(e exchange) string {
		if e.number == 3 {
			return ""
		}
		return ok("")
	})
	plan := planFor(s)
	plan.ConnectionsPerTarget, plan.Count, plan.Rate = 1, 9, 50
	summary, _ := runPlan(t, t.Context(), plan)
	assert.EqualValues(t, 9, s.requests.Load(), "nothing is sent twice")
	assert.Positive(t, summary.ByClass["eof-reused"])
	assert.EqualValues(t, 9, summary.ByClass["ok"]+summary.ByClass["eof-reused"])
}

// TestIdleConnectionWithFINIsNotUsed: a server that has closed a connection while
// it was idle must not cost a request.
func TestIdleConnectionWithFINIsNotUsed(t *testing.T) {
	t.Parallel()
	s := serve(t, func(e exchange) string {
		_, _ = e.conn.Write([]byte(ok("")))
		return "" // answers, says nothing of closing, and closes
	})
	plan := planFor(s).WithDefaults()
	plan.ConnectionsPerTarget = 1
	var text strings.Builder
	r := newRun(plan, newCollector(&text))
	r.open, r.cut = context.WithCancel(t.Context())
	for id := range uint64(5) {
		r.dispatch(id+1, r.clock.now())
		eventually(t, "the answer, and the end of the connection", func() bool {
			return r.done.Load() == id+1 && s.open.Load() == 0
		})
	}
	r.pools[0].shutDown()
	r.workers.Wait()
	require.NoError(t, r.out.close())
	require.NoError(t, ReadRecords(strings.NewReader(text.String()), func(r Record) error {
		assert.Equal(t, []any{wire.OK, false}, []any{r.Class, r.Reused})
		return nil
	}))
	assert.EqualValues(t, 4, r.closedByPeer.Load())
	assert.EqualValues(t, 5, s.connections.Load())
}

func TestBusyConnectionsAreWaitedForAtTheLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { time.Sleep(20 * time.Millisecond); return ok("") })
	plan := planFor(s)
	plan.ConnectionsPerTarget, plan.MaxConnections, plan.Count = 2, 2, 10 // 2 ms apart: 100 ms of work for two
	summary, records := runPlan(t, t.Context(), plan)
	assert.Equal(t, map[string]uint64{"ok": 10}, summary.ByClass)
	assert.EqualValues(t, 2, s.connections.Load())
	assert.EqualValues(t, 8, summary.Connections.Waited)
	assert.GreaterOrEqual(t, records[9].Lateness(), 60*time.Millisecond, "the wait is lateness")
	assert.False(t, summary.Valid)
	assert.Contains(t, strings.Join(summary.Reasons, "\n"), "lateness")
}

func TestWaitingInVain(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { time.Sleep(80 * time.Millisecond); return ok("") })
	plan := planFor(s)
	plan.ConnectionsPerTarget, plan.MaxConnections, plan.Count, plan.Timeout = 1, 1, 5, Duration(100*time.Millisecond)
	summary, _ := runPlan(t, t.Context(), plan)
	assert.Positive(t, summary.ByClass["limit"])
	assert.Contains(t, strings.Join(summary.Reasons, "\n"), "got none of the 1 connections")
}

func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stall := make(chan struct{})
	s := serve(t, func(e exchange) string {
		if e.Header.Get("X-Request-Id") == "0000000005" {
			cancel()
			<-stall // never answered within the grace
		}
		return ok("")
	})
	t.Cleanup(func() { close(stall) })
	plan := planFor(s)
	plan.Duration, plan.Timeout = Duration(time.Minute), Duration(time.Minute)
	start := time.Now()
	summary, records := runPlan(t, ctx, plan)
	assert.Less(t, time.Since(start), 20*time.Second)
	assert.True(t, summary.Interrupted)
	assert.False(t, summary.Valid)
	assert.Less(t, summary.Requests, uint64(1000))
	assert.Equal(t, wire.Interrupted, records[4].Class)
	assert.EqualValues(t, 1, summary.ByClass["interrupted"])
}

// TestOpenEndedRunLetsRequestsFinish: being told to end is the regular end of
// such a run, so that a slow request in flight is no failure.
func TestOpenEndedRunLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(e exchange) string {
		if e.Header.Get("X-Request-Id") == "0000000005" {
			cancel()
			time.Sleep(interruptGrace + 300*time.Millisecond)
		}
		return ok("")
	})
	plan := planFor(s)
	plan.Rate, plan.Duration, plan.OpenEnded = 50, Duration(time.Minute), true
	summary, _ := runPlan(t, ctx, plan)
	assert.Equal(t, map[string]uint64{"ok": summary.Requests}, summary.ByClass)
	assert.True(t, summary.Interrupted)
	assert.NotContains(t, strings.Join(summary.Reasons, "\n"), "interrupted")
}

func TestInterruptedBeforeItStarts(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	summary, err := Run(ctx, planFor(s), Output{})
	require.NoError(t, err)
	assert.True(t, summary.Interrupted)
	assert.LessOrEqual(t, summary.Requests, uint64(1))
}

func TestProgressLines(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("") })
	plan := planFor(s)
	plan.Rate, plan.Duration = 20, Duration(1200*time.Millisecond)
	var progress strings.Builder
	_, err := Run(t.Context(), plan, Output{Progress: &progress})
	require.NoError(t, err)
	var lines []Status
	for line := range strings.Lines(progress.String()) {
		var status Status
		require.NoError(t, json.Unmarshal([]byte(line), &status))
		lines = append(lines, status)
	}
	require.GreaterOrEqual(t, len(lines), 3)
	assert.Equal(t, "running", lines[0].State)
	assert.Less(t, lines[0].Elapsed, time.Second)
	last := lines[len(lines)-1]
	assert.Equal(t, Status{State: "finished", Elapsed: last.Elapsed, Sent: 24, Done: 24, TargetsUp: 1}, last)
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestRecordsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("") })
	plan := planFor(s)
	plan.Count = 20
	summary, err := Run(t.Context(), plan, Output{Records: fullDisk{}})
	require.ErrorIs(t, err, errFull)
	assert.EqualValues(t, 20, summary.Requests, "the run goes on and is summed up")
}

func TestRunRefusesForeignTargets(t *testing.T) {
	t.Parallel()
	s := serve(t, func(exchange) string { return ok("") })
	plan := planFor(s)
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	plan.Targets[0].Address = "localhost:" + port
	_, err = Run(t.Context(), plan, Output{})
	require.ErrorContains(t, err, "targets[0].address")
	assert.Zero(t, s.connections.Load())
}
