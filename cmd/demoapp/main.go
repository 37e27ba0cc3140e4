// Command demoapp is the application of the lab; package app says what it does.
//
// Without arguments it serves. In the pod of one that serves, "demoapp set
// latency=200ms" changes how it behaves, "demoapp get" lists all settings,
// "demoapp poll" asks its agent, and "demoapp forget" forgets the ids of requests.
// "demoapp rest 30s" listens on nothing and ends after that time.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"secondhop/cmd/demoapp/app"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config, err := app.ConfigFrom(os.Getenv)
	if err == nil && len(os.Args) > 1 {
		if err := command(ctx, config, os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err == nil {
		err = serve(ctx, config, log)
	}
	if err != nil {
		log.Error("demoapp", "error", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, config app.Config, log *slog.Logger) error {
	ports, err := app.Listen(config)
	if err != nil {
		return err
	}
	return app.Run(ctx, config, ports, log)
}

// command talks to the application that serves in the same pod.
func command(ctx context.Context, config app.Config, name string, args []string) error {
	socket := app.ControlSocket(config)
	var text string
	var err error
	switch name {
	case "set":
		return app.Change(ctx, socket, args)
	case "get":
		text, err = app.Show(ctx, socket)
	case "poll":
		text, err = app.Poll(ctx, config)
	case "forget":
		return app.Forget(ctx, socket)
	case "rest":
		return rest(ctx, args)
	default:
		return fmt.Errorf("%s: want set, get, poll, forget or rest", name)
	}
	fmt.Print(text)
	return err
}

// rest waits for the time that its argument says.
func rest(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("rest: want one duration, such as 30s")
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return fmt.Errorf("rest: %w", err)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
