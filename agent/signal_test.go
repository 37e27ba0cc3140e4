package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"secondhop/agent"
	"secondhop/internal/wait"
)

// TestMain is also the application that TestSIGTERM starts.
func TestMain(m *testing.M) {
	if address := os.Getenv("AGENT_TEST_ADDRESS"); address != "" {
		os.Exit(application(address))
	}
	os.Exit(m.Run())
}

func application(address string) int {
	srv := &http.Server{Addr: "127.0.0.1:0"}
	err := agent.Run(context.Background(), srv, agent.Options{Address: address, Grace: 300 * time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestSIGTERM(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	var said bytes.Buffer
	app := exec.Command(os.Args[0], "-test.run=^$")
	app.Env = append(os.Environ(), "AGENT_TEST_ADDRESS="+address)
	app.Stderr = &said
	if err := app.Start(); err != nil {
		t.Fatal(err)
	}
	defer app.Process.Kill()
	awaitLine(t, address, "up ready 100%\n")
	if err := app.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitLine(t, address, "0%\n")
	if err := app.Wait(); err != nil {
		t.Errorf("after SIGTERM the process ended with %v: %s", err, said.String())
	}
}

// awaitLine polls until the agent says want.
func awaitLine(t *testing.T, address, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := wait.Until(ctx, fmt.Sprintf("the agent to say %q", want), 5*time.Millisecond, func(context.Context) error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		line, err := io.ReadAll(conn)
		if string(line) != want {
			return fmt.Errorf("it says %q (%v)", line, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
