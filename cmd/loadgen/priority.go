package main

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// realtime is a modest priority among real-time threads.
const realtime = 5

// takeRealtime moves all threads of the process to round-robin real-time
// scheduling. On a machine that is busy with starting pods, requests are
// otherwise tens of milliseconds late. The kernel leaves other processes at least
// 5 % of each core.
func takeRealtime() error {
	// A thread inherits its maker's scheduling, and the runtime makes threads at any
	// time: only when a whole pass has found nothing to move, none can be left.
	for moved := true; moved; {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list own threads: %w", err)
		}
		moved = false
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return fmt.Errorf("thread %q: %w", thread.Name(), err)
			}
			this, err := moveThread(uintptr(id))
			if err != nil {
				return err
			}
			moved = moved || this
		}
	}
	return nil
}

// moveThread is false when there is nothing to move: the thread is there already,
// or has ended.
func moveThread(id uintptr) (moved bool, err error) {
	policy, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, id, 0, 0)
	if errno == unix.ESRCH || errno == 0 && policy == unix.SCHED_RR {
		return false, nil
	}
	priority := int32(realtime)
	_, _, errno = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, id, unix.SCHED_RR, uintptr(unsafe.Pointer(&priority)))
	switch errno {
	case 0:
		return true, nil
	case unix.ESRCH:
		return false, nil
	}
	return false, fmt.Errorf("take real-time priority: %w", errno)
}
