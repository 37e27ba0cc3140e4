package pace

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkWaking compares ways to wake at instants 200 microseconds apart, with a
// second goroutine that is woken each time, as a worker is. It reports how late
// the instants are seen, in microseconds.
func BenchmarkWaking(b *testing.B) {
	b.Run("kernel timer in the poller", func(b *testing.B) {
		timer, err := NewTimer()
		if err != nil {
			b.Fatal(err)
		}
		defer timer.Close()
		benchmarkWaking(b, func(at time.Duration) {
			if err := timer.Until(at); err != nil {
				b.Error(err)
			}
		})
	})
	b.Run("own thread in clock_nanosleep", func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		benchmarkWaking(b, func(at time.Duration) {
			spec := unix.NsecToTimespec(int64(at))
			for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &spec, nil) == unix.EINTR {
			}
		})
	})
	b.Run("runtime timer", func(b *testing.B) {
		benchmarkWaking(b, func(at time.Duration) { time.Sleep(at - Monotonic()) })
	})
}

func benchmarkWaking(b *testing.B, wait func(at time.Duration)) {
	const gap = 200 * time.Microsecond
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	late := make([]time.Duration, 0, b.N)
	jobs := make(chan time.Duration, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for due := range jobs {
			late = append(late, Monotonic()-due)
		}
	}()
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	for next := Monotonic(); b.Loop(); {
		next += gap
		if Monotonic() < next {
			wait(next)
		}
		jobs <- next
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	close(jobs)
	<-done
	slices.Sort(late)
	at := func(p float64) float64 { return float64(late[int(p*float64(len(late)-1))].Microseconds()) }
	b.ReportMetric(at(.5), "late-p50-us")
	b.ReportMetric(at(.99), "late-p99-us")
	b.ReportMetric(float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/1e3/float64(len(late)), "cpu-us/wake")
	b.ReportMetric(0, "ns/op")
}
