package app

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func (a *instance) set(t *testing.T, changes ...string) {
	t.Helper()
	if err := Change(t.Context(), a.ports.Control.Addr().String(), changes); err != nil {
		t.Fatal(err)
	}
}

// says waits for a line of the agent.
func (a *instance) says(t *testing.T, want string) {
	t.Helper()
	until(t, "the agent to say "+strings.TrimSpace(want), func() error {
		if line := a.line(t); line != want {
			return fmt.Errorf("it says %q", line)
		}
		return nil
	})
}

func TestChangeWhileRunning(t *testing.T) {
	t.Parallel()
	a := start(t, settled())
	a.ready(t)
	socket := a.ports.Control.Addr().String()
	a.set(t, "latency=30ms", "weight=40")
	begun := time.Now()
	a.do(t, "GET", "/", nil)
	if spent := time.Since(begun); spent < 30*time.Millisecond {
		t.Errorf("answered after %s", spent)
	}
	a.says(t, "up ready 40%\n")
	err := Change(t.Context(), socket, []string{"latency=1h", "colour=red"})
	if err == nil || !strings.Contains(err.Error(), `setting "colour": want one of`) {
		t.Errorf("error = %v", err)
	}
	text, err := Show(t.Context(), socket)
	if err != nil || !strings.Contains(text, "latency=30ms\n") || !strings.Contains(text, "weight=40\n") {
		t.Errorf("after a refused change: %v\n%s", err, text)
	}
	if err := Change(t.Context(), socket, nil); err == nil {
		t.Error("no change at all was accepted")
	}
}

func TestReadinessIsToggled(t *testing.T) {
	t.Parallel()
	a := start(t, settled())
	a.ready(t)
	a.set(t, "ready=false")
	if resp, _ := a.do(t, "GET", "/readyz", nil); resp.StatusCode != 503 {
		t.Errorf("/readyz: %s", resp.Status)
	}
	if resp, _ := a.do(t, "GET", "/", nil); resp.StatusCode != 200 {
		t.Errorf("GET /: %s", resp.Status)
	}
	a.set(t, "ready=true")
	a.ready(t)
}

func TestReadinessAfterTheStopSignal(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		a := start(t, graced(time.Minute, fmt.Sprintf("fail-readiness=%v", fails)))
		a.ready(t)
		a.cancel()
		a.says(t, "0%\n")
		want := 200
		if fails {
			want = 503
		}
		until(t, "/readyz", func() error {
			if resp, _ := a.do(t, "GET", "/readyz", nil); resp.StatusCode != want {
				return fmt.Errorf("it answers %s", resp.Status)
			}
			return nil
		})
	}
}

func TestOddAgents(t *testing.T) {
	t.Parallel()
	a := start(t, settled("weight=70"))
	a.ready(t)
	for mode, want := range map[string]string{
		AgentNormal: "up ready 70%\n", AgentNeverReady: "0%\n", AgentWeightOnly: "70%\n", AgentDown: "down\n",
		AgentDrain: "drain\n", AgentMaint: "maint\n", AgentAlwaysReady: "up ready 70%\n", AgentUnknown: "online\n",
	} {
		a.set(t, "agent="+mode)
		a.says(t, want)
	}
}

func refused(t *testing.T, l net.Listener) bool {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		conn.Close()
		return false
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) { // reset: shut just now
		t.Fatal(err)
	}
	return true
}

func TestPortsAreShutAndOpenedAgain(t *testing.T) {
	t.Parallel()
	a := start(t, settled())
	a.ready(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	get := func() (*http.Response, error) {
		resp, err := client.Get("http://" + a.ports.App.Addr().String())
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return resp, err
	}
	if _, err := get(); err != nil {
		t.Fatal(err)
	}
	a.set(t, "app-port=refuse", "agent=off")
	if !refused(t, a.ports.App) || !refused(t, a.ports.Agent) {
		t.Error("a port that is shut takes connections")
	}
	if resp, err := get(); err != nil || !resp.Close {
		t.Errorf("the kept connection: %v, %v; want an answer that ends it", resp, err)
	}
	if _, err := get(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after its end: %v", err)
	}
	a.set(t, "app-port=open", "agent=normal")
	a.says(t, "up ready 100%\n")
	if _, err := get(); err != nil {
		t.Error(err)
	}
}

func TestNothingListensBeforeReady(t *testing.T) {
	t.Parallel()
	a := start(t, Config{StartDelay: time.Hour, Settings: defaultSettings()})
	until(t, "the app's port to be shut", func() error {
		if !refused(t, a.ports.App) {
			return errors.New("it is open")
		}
		return nil
	})
}

func TestThePortOpensWhenReady(t *testing.T) {
	t.Parallel()
	a := start(t, Config{StartDelay: time.Millisecond, Settings: defaultSettings()})
	until(t, "the app's port", func() error {
		if refused(t, a.ports.App) {
			return errors.New("it is shut")
		}
		return nil
	})
	a.ready(t)
}

// keptConnection sends requests over one connection, as a balancer's pool does.
type keptConnection struct {
	conn   net.Conn
	reader *bufio.Reader
}

func (a *instance) keep(t *testing.T) keptConnection {
	t.Helper()
	conn, err := net.Dial("tcp", a.ports.App.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return keptConnection{conn, bufio.NewReader(conn)}
}

func (k keptConnection) get(t *testing.T) *http.Response {
	t.Helper()
	if _, err := io.WriteString(k.conn, "GET /?size=1 HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(k.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestAbruptClosing(t *testing.T) {
	t.Parallel()
	a := start(t, settled("keep-alive=50ms"))
	a.ready(t)
	kept := a.keep(t)
	if kept.get(t).Close {
		t.Error("the end was announced")
	}
	if n, err := kept.reader.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("idle connection: read %d, %v", n, err)
	}
}

func TestAnnouncedClosing(t *testing.T) {
	t.Parallel()
	a := start(t, graced(time.Minute, "keep-alive=50ms", "closing=announced"))
	a.ready(t)
	kept := a.keep(t)
	for !kept.get(t).Close { // ends, as each answer finds the connection older
	}
	a.set(t, "keep-alive=1h")
	kept = a.keep(t)
	if kept.get(t).Close {
		t.Error("a young connection was ended")
	}
	a.cancel()
	until(t, "an answer that ends the connection", func() error {
		if !kept.get(t).Close {
			return errors.New("it goes on")
		}
		return nil
	})
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	a := start(t, settled("capacity=20")) // 2 at once
	a.ready(t)
	statuses := map[int]int{}
	begun := time.Now()
	for range 20 {
		resp, _ := a.do(t, "GET", "/", nil)
		statuses[resp.StatusCode]++
	}
	most := 2 + int(time.Since(begun).Seconds()*20) + 1
	if statuses[200] < 2 || statuses[200] > most || statuses[200]+statuses[503] != 20 {
		t.Errorf("statuses %v, want at most %d of 200", statuses, most)
	}
}

func TestModeArithmetic(t *testing.T) {
	t.Parallel()
	s, err := defaultSettings().With([]string{"latency=10ms", "cold-for=30s", "cold-times=5", "pause-every=20s", "pause-for=2s", "capacity=100"})
	if err != nil {
		t.Fatal(err)
	}
	m := newMode(s)
	ready := time.Unix(1_000_000, 0) // a multiple of 20 s
	for _, tc := range []struct {
		name  string
		after time.Duration
		cost  float64
		delay time.Duration
	}{
		{"cold, in a pause", 0, 5, 2050 * time.Millisecond},
		{"cold, late in a pause", 1900 * time.Millisecond, 5, 150 * time.Millisecond},
		{"cold", 2 * time.Second, 5, 50 * time.Millisecond},
		{"warm", 30 * time.Second, 1, 10 * time.Millisecond},
		{"warm, in a pause", 41 * time.Second, 1, 1010 * time.Millisecond},
	} {
		now := ready.Add(tc.after)
		if cost := m.cost(ready, now); cost != tc.cost || m.delay(cost, now) != tc.delay {
			t.Errorf("%s: costs %v and takes %s, want %v and %s", tc.name, cost, m.delay(cost, now), tc.cost, tc.delay)
		}
	}
	admitted := func(cost float64, from time.Time) int {
		n := 0
		for i := range 2000 { // one a millisecond
			if !m.full(cost, from.Add(time.Duration(i)*time.Millisecond)) {
				n++
			}
		}
		return n
	}
	// 10 at once and 100 a second for 2 s, each counting for 5 while cold.
	if n := admitted(5, ready); n != 41 {
		t.Errorf("cold: %d of 2000 admitted, want 41", n)
	}
	if n := admitted(1, ready.Add(time.Minute)); n != 209 {
		t.Errorf("warm: %d of 2000 admitted, want 209", n)
	}
}

func (a *instance) post(t *testing.T, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+a.ports.App.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestDuplicatePosts(t *testing.T) {
	t.Parallel()
	a := start(t, settled())
	a.ready(t)
	for _, id := range []string{"1", "2", "3", "2", "2"} {
		a.post(t, id)
	}
	_, text := a.do(t, "GET", "/duplicates", nil)
	var report PostReport
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	if report.Posts != 5 || report.Forgotten != 0 || len(report.Duplicates) != 1 || report.Duplicates["2"] != 3 {
		t.Errorf("report %s", text)
	}
	if _, ids := a.do(t, "GET", "/posts", nil); ids != "1\n2\n3\n" {
		t.Errorf("/posts: %q", ids)
	}
	if err := Forget(t.Context(), a.ports.Control.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if _, ids := a.do(t, "GET", "/posts", nil); ids != "" {
		t.Errorf("/posts after forgetting: %q", ids)
	}
}

func TestPostsAreBounded(t *testing.T) {
	t.Parallel()
	var p posts
	for i := range maxPosts + 10 {
		p.note(fmt.Sprint(i))
	}
	p.note("5") // forgotten, so it is new
	p.note(fmt.Sprint(maxPosts))
	if len(p.counts) != maxPosts || len(p.ring) != maxPosts || p.report.Forgotten != 11 {
		t.Errorf("%d ids counted, %d in the ring, %d forgotten", len(p.counts), len(p.ring), p.report.Forgotten)
	}
	if p.counts["5"] != 1 || p.counts[fmt.Sprint(maxPosts)] != 2 {
		t.Errorf("counts of an old and a young id: %d, %d", p.counts["5"], p.counts[fmt.Sprint(maxPosts)])
	}
}
