package timeline

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the start of a run on two clocks: the wall, that Kubernetes knows,
// and CLOCK_MONOTONIC, that all containers of a machine share and that never
// jumps. All times of a run count from it.
type Clock struct {
	Wall time.Time `json:"wall"`
	// Monotonic is CLOCK_MONOTONIC at the same instant.
	Monotonic time.Duration `json:"monotonic"`
}

// StartClock is a run that starts now.
func StartClock() (Clock, error) {
	// The wall is read between two readings of the other clock, so that being
	// descheduled in between moves the pair by half the gap at most.
	before, err := monotonic()
	if err != nil {
		return Clock{}, err
	}
	wall := time.Now()
	after, err := monotonic()
	if err != nil {
		return Clock{}, err
	}
	return Clock{Wall: wall, Monotonic: before + (after-before)/2}, nil
}

// Now is the time since the start of the run.
func (c Clock) Now() (time.Duration, error) {
	m, err := monotonic()
	if err != nil {
		return 0, err
	}
	return c.FromMonotonic(m), nil
}

// FromMonotonic is the instant of the run at a reading of CLOCK_MONOTONIC.
func (c Clock) FromMonotonic(m time.Duration) time.Duration { return m - c.Monotonic }

// FromWall is the instant of the run at a wall time. It is as good as the wall
// clock: a step of it since the start moves the result.
func (c Clock) FromWall(wall time.Time) time.Duration {
	return wall.Round(0).Sub(c.Wall.Round(0))
}

// ToWall is the wall time of an instant of the run.
func (c Clock) ToWall(at time.Duration) time.Time { return c.Wall.Add(at) }

// From turns instants that count from another clock's start, such as a load
// generator's, into instants of this run.
func (c Clock) From(other Clock, at time.Duration) time.Duration {
	return other.Monotonic - c.Monotonic + at
}

func monotonic() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}
