// Command demoapp is the application of the lab; package app says what it does.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"secondhop/cmd/demoapp/app"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, log); err != nil {
		log.Error("demoapp", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) error {
	config, err := app.ConfigFrom(os.Getenv)
	if err != nil {
		return err
	}
	ports, err := app.Listen(config)
	if err != nil {
		return err
	}
	return app.Run(ctx, config, ports, log)
}
