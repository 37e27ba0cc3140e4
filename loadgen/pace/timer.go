package pace

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Timer waits until instants of CLOCK_MONOTONIC. The runtime's own timers wait in
// whole milliseconds; this one is a kernel timer whose descriptor lies in the
// runtime's poller, so that waiting costs no thread and waking is exact to tens
// of microseconds even when the process has a single core.
type Timer struct {
	file *os.File
	fd   int
	read [8]byte
}

// ErrInterrupted is what a wait returns after Interrupt.
var ErrInterrupted = errors.New("wait interrupted")

// NewTimer opens a kernel timer; Close it.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open a timer: %w", err)
	}
	return &Timer{file: os.NewFile(uintptr(fd), "timer"), fd: fd}, nil
}

// Monotonic reads CLOCK_MONOTONIC, in nanoseconds since the machine's start.
func Monotonic() time.Duration {
	var now unix.Timespec
	// It cannot fail for a clock that exists and memory that is ours.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return time.Duration(now.Nano())
}

// Until waits until the clock reads at or later; an instant that has passed is
// not waited for. Only one goroutine may wait at a time.
func (t *Timer) Until(at time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(at), 1))}
	if err := unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("set the timer: %w", err)
	}
	_, err := t.file.Read(t.read[:])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrInterrupted
	case err != nil:
		return fmt.Errorf("wait for the timer: %w", err)
	}
	return nil
}

// Interrupt ends the present wait and all later ones; it may be called from any
// goroutine.
func (t *Timer) Interrupt() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) }

// Close frees the kernel timer; no wait may be going on.
func (t *Timer) Close() error { return t.file.Close() }
