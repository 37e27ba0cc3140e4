package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"secondhop/internal/wait"
)

// instance is a running application.
type instance struct {
	ports  Ports
	cancel context.CancelFunc
	done   chan error
}

// settled is a configuration with the defaults and some settings that differ.
func settled(changes ...string) Config { return graced(0, changes...) }

func graced(grace time.Duration, changes ...string) Config {
	s, err := defaultSettings().With(changes)
	if err != nil {
		panic(err)
	}
	return Config{Grace: grace, Settings: s}
}

func start(t *testing.T, c Config) *instance {
	t.Helper()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	ports := Ports{App: listen(), Agent: listen(), Sink: listen()}
	control, err := net.Listen("unix", "@demoapp-test-"+ports.App.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	ports.Control = control
	a := &instance{ports, cancel, make(chan error, 1)}
	go func() { a.done <- Run(ctx, c, a.ports, slog.New(slog.DiscardHandler)) }()
	return a
}

func (a *instance) do(t *testing.T, method, target string, body io.Reader) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.ports.App.Addr().String()+target, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func (a *instance) line(t *testing.T) string {
	t.Helper()
	conn, err := net.Dial("tcp", a.ports.Agent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

func until(t *testing.T, subject string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := wait.Until(ctx, subject, 5*time.Millisecond, func(context.Context) error { return try() }); err != nil {
		t.Fatal(err)
	}
}

func (a *instance) ready(t *testing.T) {
	t.Helper()
	until(t, "/readyz", func() error {
		resp, err := http.Get("http://" + a.ports.App.Addr().String() + "/readyz")
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			return fmt.Errorf("it answers %s", resp.Status)
		}
		return nil
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	a := start(t, Config{Pod: "p-1", Node: "n-1", Settings: defaultSettings()})
	a.ready(t)
	for i, tc := range []struct {
		method, target, body string
		status, length       int
	}{
		{"GET", "/", "", 200, 200},
		{"GET", "/?size=0", "", 200, 0},
		{"GET", "/?size=24576", "", 200, 24576},
		{"POST", "/some/path?size=1000000", strings.Repeat("x", 300_000), 200, 1_000_000},
	} {
		resp, body := a.do(t, tc.method, tc.target, strings.NewReader(tc.body))
		if resp.StatusCode != tc.status || len(body) != tc.length || resp.ContentLength != int64(tc.length) {
			t.Errorf("%s %s: %s with %d bytes (Content-Length %d), want %d with %d", tc.method, tc.target,
				resp.Status, len(body), resp.ContentLength, tc.status, tc.length)
		}
		got := [3]string{resp.Header.Get("X-Pod"), resp.Header.Get("X-Node"), resp.Header.Get("X-Requests")}
		if want := [3]string{"p-1", "n-1", fmt.Sprint(i + 1)}; got != want {
			t.Errorf("%s %s: X-Pod, X-Node, X-Requests = %q, want %q", tc.method, tc.target, got, want)
		}
	}
	for _, target := range []string{"/?size=-1", "/?size=x", "/?size=99999999999"} {
		if resp, _ := a.do(t, "GET", target, nil); resp.StatusCode != 400 {
			t.Errorf("GET %s: %s, want 400", target, resp.Status)
		}
	}
	if _, count := a.do(t, "GET", "/count", nil); count != "4\n" {
		t.Errorf("/count = %q, want 4", count)
	}
}

// counting counts what is read from it.
type counting struct {
	io.Reader
	n atomic.Int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func TestBodyIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	a := start(t, settled())
	a.ready(t)
	const size = 8 << 20 // far more than buffers hold, or than a server swallows by itself
	body := &counting{Reader: strings.NewReader(strings.Repeat("x", size))}
	if resp, _ := a.do(t, "POST", "/", body); resp.StatusCode != 200 || body.n.Load() != size {
		t.Errorf("POST of %d bytes: %s after %d bytes", size, resp.Status, body.n.Load())
	}
}

func TestStartDelayHoldsEverythingBack(t *testing.T) {
	t.Parallel()
	a := start(t, Config{StartDelay: time.Second, ServeBeforeReady: true, Settings: defaultSettings()})
	begun := time.Now()
	for _, target := range []string{"/", "/readyz"} {
		if resp, _ := a.do(t, "GET", target, nil); resp.StatusCode != 503 && time.Since(begun) < time.Second {
			t.Errorf("GET %s: %s in the start delay, want 503", target, resp.Status)
		}
	}
	if line := a.line(t); line != "0%\n" && time.Since(begun) < time.Second {
		t.Errorf("the agent says %q in the start delay", line)
	}
	a.ready(t)
	until(t, "the agent", func() error {
		if line := a.line(t); line != "up ready 100%\n" {
			return fmt.Errorf("it says %q", line)
		}
		return nil
	})
}

func TestNeverReadyAgentIsAllThatIsNotReady(t *testing.T) {
	t.Parallel()
	a := start(t, settled("agent=never-ready"))
	a.ready(t)
	if resp, _ := a.do(t, "GET", "/", nil); resp.StatusCode != 200 {
		t.Errorf("GET /: %s", resp.Status)
	}
	if line := a.line(t); line != "0%\n" {
		t.Errorf("the agent says %q", line)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	const grace = 400 * time.Millisecond
	for _, stop := range []string{StopGraceful, StopExit} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			a := start(t, graced(grace, "stop="+stop))
			a.ready(t)
			begun := time.Now()
			a.cancel()
			if stop == StopGraceful {
				if resp, _ := a.do(t, "GET", "/", nil); resp.StatusCode != 200 {
					t.Errorf("in the grace: %s", resp.Status)
				}
			}
			select {
			case err := <-a.done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("does not stop")
			}
			if spent := time.Since(begun); (spent >= grace) != (stop == StopGraceful) {
				t.Errorf("stopped after %s with a grace of %s", spent, grace)
			}
		})
	}
}

func TestSinkSwallowsAndIsBounded(t *testing.T) {
	t.Parallel()
	a := start(t, settled())
	var open []net.Conn
	for range maxSinks {
		conn, err := net.Dial("tcp", a.ports.Sink.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// More than socket buffers hold, so that it only passes if it is read.
		if len(open) == 0 {
			if _, err := conn.Write(make([]byte, 32<<20)); err != nil {
				t.Fatalf("write to the sink: %v", err)
			}
		}
		open = append(open, conn)
	}
	extra, err := net.Dial("tcp", a.ports.Sink.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	extra.SetReadDeadline(time.Now().Add(20 * time.Second))
	var timeout net.Error
	if _, err := extra.Read(make([]byte, 1)); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("connection %d was not refused: %v", maxSinks+1, err)
	}
	a.cancel()
	if err := <-a.done; err != nil {
		t.Error(err)
	}
}
