package pace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTimer(t *testing.T) *Timer {
	t.Helper()
	timer, err := NewTimer()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, timer.Close()) })
	return timer
}

func TestTimerNeverWakesEarly(t *testing.T) {
	t.Parallel()
	timer := newTimer(t)
	for _, wait := range []time.Duration{0, time.Nanosecond, 100 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond} {
		at := Monotonic() + wait
		require.NoError(t, timer.Until(at))
		assert.GreaterOrEqual(t, Monotonic(), at)
	}
}

func TestTimerDoesNotWaitForThePast(t *testing.T) {
	t.Parallel()
	timer := newTimer(t)
	for _, at := range []time.Duration{-time.Hour, 0, 1, Monotonic() - time.Second} {
		require.NoError(t, timer.Until(at)) // would hang the test otherwise
	}
}

func TestTimerInterrupt(t *testing.T) {
	t.Parallel()
	timer := newTimer(t)
	failed := make(chan error)
	go func() { failed <- timer.Until(Monotonic() + time.Hour) }()
	timer.Interrupt()
	require.ErrorIs(t, <-failed, ErrInterrupted)
	require.ErrorIs(t, timer.Until(Monotonic()+time.Hour), ErrInterrupted, "later waits end at once")
}

func TestTimerAfterClose(t *testing.T) {
	t.Parallel()
	timer, err := NewTimer()
	require.NoError(t, err)
	require.NoError(t, timer.Close())
	require.Error(t, timer.Until(Monotonic()+time.Millisecond))
}
