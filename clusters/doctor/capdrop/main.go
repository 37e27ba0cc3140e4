// Command capdrop is an OCI runtime that runs runc with every capability removed
// that this machine cannot give.
//
// An engine whose own root lacks a capability (a sandboxed machine, say) still
// lists it for privileged containers, and runc then fails with "unable to apply
// caps". Registered as the engine's runtime, capdrop takes such capabilities out
// of the container's configuration before runc reads it.
//
// It uses the standard library only, so that it builds anywhere in a second.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// runtimeVariable names another runtime than the runc on the PATH.
const runtimeVariable = "CAPDROP_RUNTIME"

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "capdrop:", err)
		os.Exit(1)
	}
}

// run edits the configuration named by the command line, if it names one, and
// becomes the real runtime. It returns only on failure.
func run(argv []string) error {
	if len(argv) == 2 && argv[1] == probeArgument {
		return nil
	}
	if target, ok := findTarget(argv[1:]); ok {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return fmt.Errorf("read own capabilities: %w", err)
		}
		bounding, err := boundingSet(string(status))
		if err != nil {
			return err
		}
		if err := rewriteFile(target, bounding); err != nil {
			return err
		}
	}
	name := os.Getenv(runtimeVariable)
	if name == "" {
		name = "runc"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("find the real runtime: %w", err)
	}
	err = syscall.Exec(path, append([]string{path}, argv[1:]...), os.Environ())
	return fmt.Errorf("run %s: %w", path, err)
}
