package background

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"secondhop/internal/failure"
	"secondhop/internal/units"
	"secondhop/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink starts one on loopback; the returned function ends it and waits for that.
func sink(t *testing.T) (address string, received *atomic.Int64, stop func()) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	received = new(atomic.Int64)
	ended := make(chan error, 1)
	go func() { ended <- Sink(ctx, listener, received) }()
	return listener.Addr().String(), received, func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func TestFloodSendsTheExactAmount(t *testing.T) {
	t.Parallel()
	first, toFirst, stopFirst := sink(t)
	second, toSecond, stopSecond := sink(t)
	flood := Flood{To: []string{first, second}, Rate: 20 * units.Megabit, Duration: time.Second}
	var sent atomic.Int64
	results, err := flood.Run(t.Context(), &sent)
	require.NoError(t, err)
	for i, to := range []string{first, second} {
		// 2,500,000 bytes are due, less than one batch of which does not fit.
		assert.Equal(t, to, results[i].To)
		assert.LessOrEqual(t, results[i].Bytes, 2_500_000*units.Byte)
		assert.Greater(t, results[i].Bytes, 2_500_000*units.Byte-units.Bytes(batchBytes(flood.Rate)))
		assert.Zero(t, results[i].Bytes%segment, "whole segments")
	}
	assert.EqualValues(t, results[0].Bytes+results[1].Bytes, sent.Load())
	require.Eventually(t, func() bool { return toFirst.Load()+toSecond.Load() == sent.Load() }, 10*time.Second, time.Millisecond)
	stopFirst()
	stopSecond()
}

func TestFloodIsNeverAheadOfItsRate(t *testing.T) {
	t.Parallel()
	flood := Flood{Rate: 8 * units.Megabit} // a million bytes per second
	assert.Equal(t, time.Duration(0), flood.due(0))
	assert.Equal(t, time.Second, flood.due(1_000_000))
	assert.Equal(t, 1448*time.Microsecond, flood.due(1448))
	for rate, want := range map[units.BitRate]int{
		1:                   1448, // one segment at least
		units.Megabit:       1448,
		20 * units.Megabit:  3 * 1448, // 5,000 bytes in 2 ms
		100 * units.Megabit: 17 * 1448,
		units.Gigabit:       173 * 1448,
	} {
		assert.Equal(t, want, batchBytes(rate), rate)
	}
}

func TestFloodStopsWhenTold(t *testing.T) {
	t.Parallel()
	to, received, stop := sink(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_ = wait.Until(ctx, "the first bytes", time.Millisecond, func(context.Context) error {
			if received.Load() == 0 {
				return errors.New("none yet")
			}
			return nil
		})
	}()
	var sent atomic.Int64
	results, err := Flood{To: []string{to}, Rate: units.Megabit, Duration: 10 * time.Minute}.Run(ctx, &sent)
	require.NoError(t, err)
	assert.Positive(t, results[0].Bytes)
	assert.Less(t, results[0].Elapsed, time.Minute)
	stop()
}

// TestFloodToASinkThatTakesNothing ends in time although its writes are stuck.
func TestFloodToASinkThatTakesNothing(t *testing.T) {
	t.Parallel()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer listener.Close() // nobody accepts
	var sent atomic.Int64
	flood := Flood{To: []string{listener.Addr().String()}, Rate: MaxRate, Duration: 500 * time.Millisecond}
	results, err := flood.Run(t.Context(), &sent)
	require.ErrorContains(t, err, "i/o timeout")
	assert.Less(t, results[0].Rate, MaxRate/2)
}

func TestFloodWithoutASink(t *testing.T) {
	t.Parallel()
	to, _, stop := sink(t)
	stop()
	var sent atomic.Int64
	_, err := Flood{To: []string{to}, Rate: units.Megabit, Duration: time.Second}.Run(t.Context(), &sent)
	require.ErrorContains(t, err, "refused")
	assert.Equal(t, 2, failure.ExitCode(err))
	assert.Contains(t, failure.Cure(err), "sink")
}

func TestFloodRefuses(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	_, err := Flood{To: []string{"example.com:80", "8.8.8.8:80"}, Rate: 2 * units.Gigabit, Duration: time.Hour}.Run(t.Context(), &sent)
	for _, part := range []string{"example.com:80", "8.8.8.8:80", "--rate: 2gbit", "--duration: 1h0m0s"} {
		assert.ErrorContains(t, err, part)
	}
	assert.Equal(t, 3, failure.ExitCode(err))
	assert.ErrorContains(t, Flood{}.Validate(), "--to: 0 targets")
}

func TestSinkForgetsBrokenStreams(t *testing.T) {
	t.Parallel()
	to, received, stop := sink(t)
	for range 3 {
		conn, err := net.Dial("tcp", to)
		require.NoError(t, err)
		_, err = conn.Write(make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).SetLinger(0))
		require.NoError(t, conn.Close())
	}
	conn, err := net.Dial("tcp", to)
	require.NoError(t, err)
	defer conn.Close()
	before := received.Load()
	_, err = conn.Write([]byte("still there"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return received.Load() > before }, 10*time.Second, time.Millisecond)
	stop() // with a connection open
}
