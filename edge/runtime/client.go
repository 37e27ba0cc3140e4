// Package runtime changes a running HAProxy through its socket, and checks that
// it took the changes.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"secondhop/edge/haproxy"
)

// Client sends commands to one runtime socket. Every command has its own
// connection: the socket of a replaced worker must not be held on to.
type Client struct {
	// Socket is the path of the Unix socket, of the worker or of the master.
	Socket string
}

// answerLimit is how long HAProxy may take for an answer: it has one thread, and
// the machine may be starved.
const answerLimit = 5 * time.Second

// Do sends one line, which may hold several commands separated by ";", and
// returns all that HAProxy answers.
func (c Client) Do(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return "", fmt.Errorf("haproxy socket: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	answer, err := exchange(conn.(*net.UnixConn), command)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("haproxy command %q: %w", firstWords(command), err)
	}
	return answer, nil
}

func exchange(conn *net.UnixConn, command string) (string, error) {
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		return "", err
	}
	// The master's socket answers and then waits for more unless it sees the end.
	if err := conn.CloseWrite(); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

func firstWords(command string) string {
	const enough = 60
	if len(command) > enough {
		return command[:enough] + "..."
	}
	return command
}

// State is `show servers state`: parsed, and as the text for the state file.
func (c Client) State(ctx context.Context) ([]haproxy.ServerState, string, error) {
	text, err := c.Do(ctx, "show servers state")
	if err != nil {
		return nil, "", err
	}
	servers, err := haproxy.ParseServersState(strings.NewReader(text))
	return servers, text, err
}

// WorkerPID is the process that answers on a worker's socket.
func (c Client) WorkerPID(ctx context.Context) (int, error) {
	info, err := c.Do(ctx, "show info")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(line, "Pid:"); ok {
			return strconv.Atoi(strings.TrimSpace(text))
		}
	}
	return 0, fmt.Errorf("haproxy show info: no line with Pid")
}

// Worker is the present worker; Socket must be the master's.
func (c Client) Worker(ctx context.Context) (haproxy.Worker, error) {
	text, err := c.Do(ctx, "show proc")
	if err != nil {
		return haproxy.Worker{}, err
	}
	workers, err := haproxy.ParseWorkers(strings.NewReader(text))
	if err != nil {
		return haproxy.Worker{}, err
	}
	if len(workers) == 0 {
		return haproxy.Worker{}, errors.New("haproxy has no worker")
	}
	present := workers[0]
	for _, w := range workers {
		if w.Reloads < present.Reloads {
			present = w
		}
	}
	return present, nil
}
