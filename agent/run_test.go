package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// lifecycle is a running server with its agent.
type lifecycle struct {
	app, polls net.Listener
	cancel     context.CancelFunc
	done       chan error
	changes    chan State
}

func start(t *testing.T, handler http.Handler, opts Options) *lifecycle {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &lifecycle{listen(t), listen(t), cancel, make(chan error, 1), make(chan State, 8)}
	opts.OnChange = func(s State) { l.changes <- s }
	go func() { l.done <- RunListeners(ctx, &http.Server{Handler: handler}, l.app, l.polls, opts) }()
	t.Cleanup(cancel)
	return l
}

func (l *lifecycle) await(t *testing.T, want State) {
	t.Helper()
	select {
	case got := <-l.changes:
		if got != want {
			t.Fatalf("state = %s, want %s", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("never reached state %s", want)
	}
}

func (l *lifecycle) result(t *testing.T) error {
	t.Helper()
	select {
	case err := <-l.done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("RunListeners does not return")
		return nil
	}
}

func get(l net.Listener) (int, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	resp, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func TestRunServesThroughTheGraceAndThenCloses(t *testing.T) {
	t.Parallel()
	const grace = 500 * time.Millisecond
	warm := make(chan struct{})
	l := start(t, http.HandlerFunc(ok), Options{Grace: grace, WarmUp: func(context.Context) error { <-warm; return nil }})
	l.await(t, Starting)
	if got := poll(t, l.polls, ""); got != "0%\n" {
		t.Errorf("while warming up: %q", got)
	}
	close(warm)
	l.await(t, Ready)
	if got := poll(t, l.polls, ""); got != "up ready 100%\n" {
		t.Errorf("ready: %q", got)
	}
	begun := time.Now()
	l.cancel()
	l.await(t, Draining)
	if got := poll(t, l.polls, ""); got != "0%\n" {
		t.Errorf("in the grace the agent says %q", got)
	}
	if code, err := get(l.app); code != 200 || err != nil {
		t.Errorf("in the grace the application answers %d, %v", code, err)
	}
	if err := l.result(t); err != nil {
		t.Errorf("RunListeners = %v", err)
	}
	if spent := time.Since(begun); spent < grace {
		t.Errorf("closed after %s, before the grace of %s was over", spent, grace)
	}
	for name, port := range map[string]net.Listener{"application": l.app, "agent": l.polls} {
		if conn, err := net.Dial("tcp", port.Addr().String()); err == nil {
			conn.Close()
			t.Errorf("the port of the %s is still open", name)
		}
	}
}

func TestRunFinishesRequestsUnderWay(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	l := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		ok(w, r)
	}), Options{Grace: -1})
	var code int
	var err error
	var asked sync.WaitGroup
	asked.Go(func() { code, err = get(l.app) })
	<-entered
	l.cancel()
	l.await(t, Starting)
	l.await(t, Ready)
	l.await(t, Draining)
	close(leave)
	asked.Wait()
	if code != 200 || err != nil {
		t.Errorf("the request under way got %d, %v", code, err)
	}
	if err := l.result(t); err != nil {
		t.Errorf("RunListeners = %v", err)
	}
}

func TestRunReports(t *testing.T) {
	t.Parallel()
	cold := errors.New("cache is empty")
	t.Run("a failed warm-up", func(t *testing.T) {
		t.Parallel()
		l := start(t, http.HandlerFunc(ok), Options{WarmUp: func(context.Context) error { return cold }})
		if err := l.result(t); !errors.Is(err, cold) {
			t.Errorf("RunListeners = %v, want %v", err, cold)
		}
	})
	t.Run("a request that outlives the shutdown", func(t *testing.T) {
		t.Parallel()
		entered := make(chan struct{})
		l := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(entered)
			<-r.Context().Done()
		}), Options{Grace: -1, ShutdownTimeout: 50 * time.Millisecond})
		var asked sync.WaitGroup
		asked.Go(func() { get(l.app) })
		defer asked.Wait()
		<-entered
		l.cancel()
		if err := l.result(t); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RunListeners = %v, want %v", err, context.DeadlineExceeded)
		}
	})
	t.Run("a port in use", func(t *testing.T) {
		t.Parallel()
		taken := listen(t)
		err := Run(t.Context(), &http.Server{Addr: "127.0.0.1:0"}, Options{Address: taken.Addr().String()})
		if err == nil {
			t.Error("Run = nil though the agent's port was taken")
		}
	})
}

func TestWarmUpGivesUpWhenDrainingBegins(t *testing.T) {
	t.Parallel()
	l := start(t, http.HandlerFunc(ok), Options{
		Grace:  -1,
		WarmUp: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	})
	l.await(t, Starting)
	l.cancel()
	l.await(t, Draining)
	if err := l.result(t); err != nil {
		t.Errorf("RunListeners = %v", err)
	}
}
