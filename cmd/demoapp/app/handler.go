package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	defaultSize = 200
	maxSize     = 64 << 20
)

// handler answers everything but what is asked about the application itself. It
// logs nothing and renders nothing per request: two cores carry the whole lab, and
// what the application burns is missing from what is measured.
type handler struct {
	pod, node   []string // header values, shared by all answers
	contentType []string
	payload     []byte
	requests    atomic.Int64
	posts       posts
	life        *life
}

func newHandler(c Config, life *life) *handler {
	return &handler{
		pod:         []string{c.Pod},
		node:        []string{c.Node},
		contentType: []string{"application/octet-stream"},
		payload:     bytes.Repeat([]byte("second hop? "), 4096),
		life:        life,
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size, err := sizeOf(r.URL)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// The body is read to its end, or the sender's bytes would not all cross
	// the link that is measured.
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	header := w.Header()
	header["X-Pod"], header["X-Node"] = h.pod, h.node
	header["X-Requests"] = []string{strconv.FormatInt(h.requests.Add(1), 10)}
	if refusal := h.admit(r); refusal != "" {
		// Whoever sends requests before the pod is ready, or more than it can
		// take, shall see it.
		http.Error(w, refusal, http.StatusServiceUnavailable)
		return
	}
	if h.life.closesWith(h.life.settings(), r) {
		header["Connection"] = []string{"close"}
	}
	header["Content-Type"] = h.contentType
	header["Content-Length"] = []string{strconv.Itoa(size)}
	for size > 0 && r.Method != http.MethodHead {
		n, err := w.Write(h.payload[:min(size, len(h.payload))])
		if err != nil {
			return
		}
		size -= n
	}
}

// admit says why a request is not served, or "" after having spent the time that
// serving it takes.
func (h *handler) admit(r *http.Request) string {
	readyAt := h.life.readyAt.Load()
	if readyAt == nil {
		return "starting"
	}
	mode, now := h.life.now.Load(), time.Now()
	cost := mode.cost(*readyAt, now)
	if mode.full(cost, now) {
		return "full"
	}
	if id := r.Header.Get("X-Request-Id"); id != "" && r.Method == http.MethodPost {
		h.posts.note(id)
	}
	if wait := mode.delay(cost, now); wait > 0 {
		// The client's leaving does not make serving it cheaper.
		pause(context.WithoutCancel(r.Context()), wait)
	}
	return ""
}

// sizeOf is the number of bytes asked for by ?size=N.
func sizeOf(u *url.URL) (int, error) {
	if u.RawQuery == "" {
		return defaultSize, nil
	}
	text := u.Query().Get("size")
	if text == "" {
		return defaultSize, nil
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 || size > maxSize {
		return 0, fmt.Errorf("size %q: want a number of bytes from 0 to %d", text, maxSize)
	}
	return size, nil
}

// serveCount answers the number of requests served, which is what X-Requests
// said last; asking is not counted.
func (h *handler) serveCount(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, h.requests.Load())
}

// serveReady answers the readiness probe. It is the application's own readiness and
// not the agent's: a pod with an odd agent must still be a regular endpoint.
func (h *handler) serveReady(w http.ResponseWriter, _ *http.Request) {
	s := h.life.settings()
	switch {
	case h.life.readyAt.Load() == nil:
		http.Error(w, "starting", http.StatusServiceUnavailable)
	case !s.Ready:
		http.Error(w, "told not to be ready", http.StatusServiceUnavailable)
	case s.FailReadiness && h.life.stopping.Load():
		http.Error(w, "stopping", http.StatusServiceUnavailable)
	}
}
