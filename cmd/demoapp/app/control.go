package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// controlLimit bounds a request to the control socket.
const controlLimit = 5 * time.Second

// ControlSocket is where a running application takes changes: an abstract socket,
// which needs no file and which only processes of its own pod can reach.
func ControlSocket(c Config) string { return fmt.Sprintf("@demoapp-%d", c.Port) }

// serveControl answers on the control socket until ctx ends: GET / lists the
// settings, POST / changes those given as "set" values, POST /forget forgets ids.
func serveControl(ctx context.Context, l net.Listener, life *life, h *handler) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.Join(life.settings().Lines(), "\n"))
	})
	mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		err := life.set(func(s Settings) (Settings, error) { return s.With(r.PostForm["set"]) })
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("POST /forget", func(http.ResponseWriter, *http.Request) { h.posts.forget() })
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: controlLimit}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(l); ctx.Err() == nil {
		return fmt.Errorf("serve the control socket: %w", err)
	}
	return nil
}

// Change sets values, each as "name=value", in the application behind the socket.
func Change(ctx context.Context, socket string, changes []string) error {
	if len(changes) == 0 {
		return errors.New("nothing to set: want name=value")
	}
	_, err := ask(ctx, socket, http.MethodPost, "/", url.Values{"set": changes})
	return err
}

// Show reads the settings in force, as lines "name=value".
func Show(ctx context.Context, socket string) (string, error) {
	return ask(ctx, socket, http.MethodGet, "/", nil)
}

// Forget makes the application forget the ids of POST requests.
func Forget(ctx context.Context, socket string) error {
	_, err := ask(ctx, socket, http.MethodPost, "/forget", nil)
	return err
}

func ask(ctx context.Context, socket, method, path string, form url.Values) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, controlLimit)
	defer cancel()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://demoapp"+path, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("ask the application: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("ask the application: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", fmt.Errorf("ask the application: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", errors.New(strings.TrimSpace(string(text)))
	}
	return string(text), nil
}

// Poll asks the agent's port once, as a balancer does, and returns its line.
func Poll(ctx context.Context, c Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, controlLimit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", c.AgentPort))
	if err != nil {
		return "", fmt.Errorf("poll the agent: %w", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(controlLimit))
	line, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("poll the agent: %w", err)
	}
	return string(line), nil
}
