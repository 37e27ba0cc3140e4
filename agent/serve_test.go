package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// poll is what HAProxy does: connect, say something or nothing, read to the end.
func poll(t *testing.T, l net.Listener, say string) string {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, say); err != nil {
		t.Fatal(err)
	}
	line, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("read the line: %v", err)
	}
	return string(line)
}

// serve runs a.Serve until the test ends or the returned stop is called, which
// gives Serve's error.
func serve(t *testing.T, a *Agent, l net.Listener) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, l) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("Serve does not return")
		}
	}
	t.Cleanup(func() { stop() })
	return stop
}

func TestServeAnswersEachPollWithTheLineOfTheMoment(t *testing.T) {
	t.Parallel()
	a, l := New(), listen(t)
	stop := serve(t, a, l)
	if got := poll(t, l, ""); got != "0%\n" {
		t.Errorf("starting: %q", got)
	}
	a.SetReady()
	if got := poll(t, l, "hello\n"); got != "up ready 100%\n" {
		t.Errorf("ready, poller that sends a word first: %q", got)
	}
	a.Drain()
	if got := poll(t, l, ""); got != "0%\n" {
		t.Errorf("draining: %q", got)
	}
	if err := stop(); err != nil {
		t.Errorf("Serve = %v after its context ended", err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

func TestHungPollersDelayNobody(t *testing.T) {
	t.Parallel()
	a, l := New(), listen(t)
	a.SetReady()
	stop := serve(t, a, l)
	for range 2 * maxLingering { // they read nothing and never close
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for range 20 {
		if got := poll(t, l, ""); got != "up ready 100%\n" {
			t.Fatalf("line = %q behind %d hung pollers", got, 2*maxLingering)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestStopDoesNotWaitForAHungPoller(t *testing.T) {
	t.Parallel()
	l := listen(t)
	stop := serve(t, New(), l)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadAll(conn); err != nil { // now Serve waits for this side to close
		t.Fatal(err)
	}
	begun := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if spent := time.Since(begun); spent > lingerTime*3/4 {
		t.Errorf("stopping took %s", spent)
	}
}

// failing is a listener whose first accepts fail as with too many open files.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, errors.New("accept: too many open files")
	}
	return f.Listener.Accept()
}

func TestServeOutlivesFailedAccepts(t *testing.T) {
	t.Parallel()
	a, l := New(), listen(t)
	serve(t, a, &failing{l, 3})
	if got := poll(t, l, ""); got != "0%\n" {
		t.Errorf("line = %q", got)
	}
}

func TestServeReportsAListenerClosedUnderIt(t *testing.T) {
	t.Parallel()
	l := listen(t)
	l.Close()
	if err := New().Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve = %v, want %v", err, net.ErrClosed)
	}
}
