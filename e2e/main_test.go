//go:build e2e

// Package e2e is the suite: it needs Docker and root, makes the lab, and proves on
// it what the project claims. `make e2e` runs all of it.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"secondhop/clusters"
	"secondhop/internal/failure"
	"secondhop/internal/runner"
)

// The suite's only variables are set once, before the first test, since this is
// how package testing hands things from TestMain to tests.
var (
	environment env.Environment
	lab         *runner.Lab
)

// exitCode is the suite's own: go test knows only 0 and 1.
func TestMain(m *testing.M) {
	// Ctrl-C ends the tests, not the clean-up after them.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if environment, err = env.NewWithContext(ctx, envconf.New()); err != nil {
		fmt.Fprintf(os.Stderr, "secondhop: %v\n", err)
		os.Exit(int(failure.Infrastructure))
	}
	environment.Setup(func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		opened, err := runner.Open(ctx, options())
		lab = opened
		return ctx, err
	})
	var verdict error
	environment.Finish(func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		verdict = lab.Close(ctx, os.Stdout)
		return ctx, nil
	})
	code := environment.Run(m)
	var failed *failure.Error
	switch {
	case verdict != nil:
		fmt.Fprintf(os.Stderr, "secondhop: %v\n", verdict)
		code = failure.ExitCode(verdict)
	case code != 0 && !errors.As(verdict, &failed):
		code = int(failure.Product)
	}
	os.Exit(code)
}

// options are those of a run by make, which passes them in the environment.
func options() runner.Options {
	spec := clusters.DefaultSpec()
	if version := os.Getenv("KUBERNETES"); version != "" {
		spec.Kubernetes = version
	}
	if mode := os.Getenv("PROXY_MODE"); mode != "" {
		spec.ProxyMode = clusters.ProxyMode(mode)
	}
	artifacts := os.Getenv("ARTIFACTS")
	if artifacts == "" {
		artifacts = "artifacts"
	}
	return runner.Options{
		Spec:      spec,
		Artifacts: artifacts,
		Keep:      os.Getenv("SECONDHOP_KEEP") != "",
		Progress:  os.Stdout,
	}
}
