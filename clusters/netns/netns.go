// Package netns runs a few system calls inside the network namespace of a
// container, from a process of the host.
package netns

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"secondhop/clusters/engine"
)

// Path is where the kernel shows the network namespace of a running container.
// It stays valid until the container stops or restarts.
func Path(ctx context.Context, container string) (string, error) {
	pid, err := engine.Pid(ctx, container)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("/proc/%d/ns/net", pid), nil
}

// Host is the path of the namespace that this program runs in. It is that of the
// calling thread: the process's first thread may be inside Do.
const Host = "/proc/thread-self/ns/net"

// Do calls fn on a thread that is in the namespace at path. Sockets that fn opens
// stay in that namespace for good; goroutines that it starts are not in it. A
// thread that cannot be brought back afterwards is given up, so that it can never
// run other code in the wrong namespace.
func Do(path string, fn func() error) error {
	handle, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer handle.Close()
	done := make(chan error, 1)
	go func() { done <- inside(handle, fn) }()
	return <-done
}

// inside runs on a goroutine of its own, which it leaves locked to its thread
// when the thread is not where it was.
func inside(target *os.File, fn func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(Host)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("open the host's network namespace: %w", err)
	}
	defer own.Close()
	if err := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter network namespace %s: %w", target.Name(), err)
	}
	result := fn()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("leave network namespace %s: %w", target.Name(), err)
	}
	runtime.UnlockOSThread()
	return result
}
