package edge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// admin is the socket on which the running edge takes requests of its own
// subcommands: one line in, one line out.
type admin struct {
	listener net.Listener
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

func (e *Edge) listenAdmin(ctx context.Context) (*admin, error) {
	if err := os.Remove(e.files.admin); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("edge: old admin socket: %w", err)
	}
	listener, err := net.Listen("unix", e.files.admin)
	if err != nil {
		return nil, fmt.Errorf("edge: admin socket: %w", err)
	}
	if err := os.Chmod(e.files.admin, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("edge: admin socket: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &admin{listener: listener, cancel: cancel}
	a.wg.Go(func() { a.accept(ctx, e) })
	return a, nil
}

func (a *admin) close() {
	a.cancel()
	a.listener.Close()
	a.wg.Wait()
}

func (a *admin) accept(ctx context.Context, e *Edge) {
	for {
		conn, err := a.listener.Accept()
		if err != nil {
			return // closed
		}
		a.wg.Go(func() {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
			defer stop()
			answer(ctx, e, conn)
		})
	}
}

func answer(ctx context.Context, e *Edge, conn io.ReadWriter) {
	line, err := bufio.NewReader(io.LimitReader(conn, 100)).ReadString('\n')
	if err != nil {
		return // nobody there to tell
	}
	reply := "ok"
	switch request := strings.TrimSpace(line); request {
	case "reload":
		err = e.Reload(ctx)
	default:
		err = fmt.Errorf("unknown request %q", request)
	}
	if err != nil {
		reply = "error: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	fmt.Fprintln(conn, reply)
}

// RequestReload asks the edge that runs with the same run directory for a reload
// and returns when its new worker serves.
func RequestReload(ctx context.Context, runDir string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", filesIn(runDir).admin)
	if err != nil {
		return fmt.Errorf("ask edge for a reload: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, "reload\n"); err != nil {
		return fmt.Errorf("ask edge for a reload: %w", err)
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("ask edge for a reload: answer: %w", err)
	}
	if reply = strings.TrimSpace(reply); reply != "ok" {
		return fmt.Errorf("edge could not reload: %s", strings.TrimPrefix(reply, "error: "))
	}
	return nil
}

// StatsSocket is the path of HAProxy's runtime socket in a run directory.
func StatsSocket(runDir string) string { return filesIn(runDir).stats }
