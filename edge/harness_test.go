package edge

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"secondhop/edge/haproxy"
	"secondhop/edge/plan"
	"secondhop/edge/policy"
	"secondhop/edge/render"
	"secondhop/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is a real haproxy, or the test is skipped.
func program(t testing.TB) string {
	t.Helper()
	name := os.Getenv("SECONDHOP_HAPROXY")
	if name == "" {
		name = "haproxy"
	}
	for _, name := range []string{name, "/usr/sbin/haproxy"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs haproxy, 2.6 or later, in PATH or named by SECONDHOP_HAPROXY")
	return ""
}

// memory is a Source that a test fills, and a Reporter that it reads.
type memory struct {
	changed  chan struct{}
	mu       sync.Mutex
	snapshot plan.Snapshot
	problems []plan.Problem
}

func newMemory() *memory { return &memory{changed: make(chan struct{}, 1)} }

func (m *memory) Changed() <-chan struct{} { return m.changed }

func (m *memory) Snapshot() (plan.Snapshot, []plan.Problem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.snapshot, nil
}

func (m *memory) set(s plan.Snapshot) {
	m.mu.Lock()
	m.snapshot = s
	m.mu.Unlock()
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

func (m *memory) Report(problems []plan.Problem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problems = problems
}

func (m *memory) reported() []plan.Problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.problems
}

// pod is an HTTP server and an agent on loopback.
type pod struct {
	name     string
	address  netip.AddrPort
	agent    uint16
	says     atomic.Value // string: the agent's line
	requests atomic.Int64
	server   *http.Server
}

func startPod(t testing.TB, name string) *pod {
	t.Helper()
	p := &pod{name: name}
	p.says.Store("up ready 100%")
	listener := listenOn(t, ownHost(t)+":0") // as pods have addresses of their own
	p.address = netip.MustParseAddrPort(listener.Addr().String())
	p.server = &http.Server{Handler: http.HandlerFunc(p.answer)}
	var wg sync.WaitGroup
	wg.Go(func() { _ = p.server.Serve(listener) })
	agent := listenOn(t, p.address.Addr().String()+":0")
	p.agent = netip.MustParseAddrPort(agent.Addr().String()).Port()
	wg.Go(func() {
		for {
			conn, err := agent.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, p.says.Load())
			conn.Close()
		}
	})
	t.Cleanup(func() { p.server.Close(); agent.Close(); wg.Wait() })
	return p
}

func (p *pod) answer(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("X-Pod", p.name)
	fmt.Fprintln(w, p.name)
}

func listenOn(t testing.TB, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// ownHost is a loopback address of this call alone: HAProxy cannot be asked which
// port it took, and a port that was free a moment ago may not be. The test's
// directory tells calls of one process apart, its process id those of others.
func ownHost(t testing.TB) string {
	t.Helper()
	h := fnv.New32a()
	fmt.Fprint(h, os.Getpid(), t.TempDir())
	n := h.Sum32()
	return fmt.Sprintf("127.%d.%d.%d", 64+n>>16&63, n>>8&255, 1+n&127)
}

// ownAddress is a port on such a host.
func ownAddress(t testing.TB) string { return ownHost(t) + ":18080" }

func (p *pod) endpoint() policy.Endpoint { return policy.Endpoint{Address: p.address, Ready: true} }

func (p *pod) slot(n int) policy.Slot {
	return policy.Slot{Number: n, Address: p.address, AgentPort: p.agent}
}

// shop is a snapshot of one Ingress, "/" to app/shop:80.
func shop(policyName string, endpoints []*pod, slots []*pod) plan.Snapshot {
	key := plan.AppKey{Namespace: "app", Service: "shop", Port: "80"}
	app := policy.App{Namespace: "app", Service: "shop", Port: 80}
	for _, p := range endpoints {
		app.Endpoints = append(app.Endpoints, p.endpoint())
	}
	for n, p := range slots {
		app.Slots = append(app.Slots, p.slot(n))
	}
	return plan.Snapshot{
		Ingresses: []plan.Ingress{{
			Namespace: "app", Name: "shop", Policy: policyName, Redispatch: true,
			Rules: []plan.Rule{{Path: "/", App: key}},
		}},
		Apps: map[plan.AppKey]policy.App{key: app},
	}
}

// rig is a running Edge.
type rig struct {
	*Edge
	t      testing.TB
	source *memory
	url    string // of the frontend with policies
	plain  string
	stop   context.CancelFunc
	ended  chan error
}

func startEdge(t testing.TB, first plan.Snapshot, change func(*Options)) *rig {
	t.Helper()
	options := Options{
		RunDir: t.TempDir(), Program: program(t), StopLimit: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
		Process: render.Process{
			Node: "w1", Bind: ownAddress(t), PlainBind: ownAddress(t), Threads: 1, MaxConn: 500,
			HardStopAfter: 5 * time.Second,
		},
	}
	if os.Getenv("SECONDHOP_LOG") != "" {
		options.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	if change != nil {
		change(&options)
	}
	source := newMemory()
	source.snapshot = first
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{
		Edge: New(options, source, source), t: t, source: source, stop: cancel, ended: make(chan error, 1),
		url: "http://" + options.Process.Bind, plain: "http://" + options.Process.PlainBind,
	}
	go func() { r.ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	r.until("health page", func(context.Context) error { return r.health(http.StatusOK) })
	return r
}

// end stops the Edge and returns what Run returned; a second call returns nil.
func (r *rig) end() error {
	r.stop()
	select {
	case err, first := <-r.ended:
		if first {
			close(r.ended)
		}
		return err
	case <-time.After(20 * time.Second):
		r.t.Error("edge did not end")
		return nil
	}
}

func (r *rig) until(subject string, try func(context.Context) error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 15*time.Second)
	defer cancel()
	if err := wait.Until(ctx, subject, 10*time.Millisecond, try); err != nil {
		select {
		case ended := <-r.ended:
			r.ended <- ended
			err = fmt.Errorf("%w; edge: %v", err, ended)
		default:
		}
		r.t.Fatal(err)
	}
}

func (r *rig) health(want int) error {
	got, err := get(r.url + render.HealthPath)
	if err == nil && got.StatusCode != want {
		err = fmt.Errorf("health page: %s, want %d", got.Status, want)
	}
	return err
}

// get is one request on a connection of its own: nothing is retried.
func get(url string) (*http.Response, error) {
	address, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	return c.do(http.MethodGet, "/"+path, "")
}

// client is one keep-alive connection without any hidden retry.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	host string
}

func dial(address string) (*client, error) {
	conn, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReader(conn), host: "shop.example"}, nil
}

// do sends one request and reads the whole answer.
func (c *client) do(method, path, body string) (*http.Response, error) {
	if err := c.conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	_, err := io.WriteString(c.conn, method+" "+path+" HTTP/1.1\r\nHost: "+c.host+"\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response, err
}

// servers is the statistics table.
func (r *rig) servers() map[string]haproxy.ServerStat {
	r.t.Helper()
	out, err := r.client.Do(r.t.Context(), "show stat")
	if err != nil {
		r.t.Fatal(err)
	}
	all, err := haproxy.ParseStat(strings.NewReader(out))
	if err != nil {
		r.t.Fatal(err)
	}
	table := map[string]haproxy.ServerStat{}
	for _, s := range all {
		table[s.Proxy+"/"+s.Server] = s
	}
	return table
}

// slotsOpen waits until exactly want slots take part in the draw.
func (r *rig) slotsOpen(proxy string, want int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d open slots", want), func(context.Context) error {
		open := 0
		for _, s := range r.servers() {
			if s.Proxy == proxy && strings.HasPrefix(s.Server, haproxy.SlotPrefix) && s.Up() && s.Weight == 100 {
				open++
			}
		}
		if open != want {
			return fmt.Errorf("%d slots are open", open)
		}
		return nil
	})
}
