package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
)

const (
	defaultSize = 200
	maxSize     = 64 << 20
)

// handler answers everything but /readyz. It logs nothing and renders nothing per
// request: two cores carry the whole lab, and what the application burns is
// missing from what is measured.
type handler struct {
	pod, node   []string // header values, shared by all answers
	contentType []string
	payload     []byte
	requests    atomic.Int64
	ready       *atomic.Bool
}

func newHandler(c Config, ready *atomic.Bool) *handler {
	return &handler{
		pod:         []string{c.Pod},
		node:        []string{c.Node},
		contentType: []string{"application/octet-stream"},
		payload:     bytes.Repeat([]byte("second hop? "), 4096),
		ready:       ready,
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
	if !h.ready.Load() {
		// Whoever sends requests before the pod is ready shall see it.
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
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
