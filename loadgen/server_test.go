package loadgen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"secondhop/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a scripted HTTP server: every request is given to answer, with its
// number on its connection, and connections are counted.
type server struct {
	address     string
	connections atomic.Int64
	open        atomic.Int64 // connections
	requests    atomic.Int64
	close       func()
}

// exchange is one request as a scripted server sees it.
type exchange struct {
	*http.Request
	conn   *net.TCPConn
	number int // of the request on its connection, from 1
}

// ok is a whole answer that keeps the connection.
func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Ingress-Node: w1\r\nX-Server: slot0\r\nX-Pod: p1\r\nX-Node: w2\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// serve starts a server that writes what answer returns; "" closes the connection.
func serve(t *testing.T, answer func(exchange) string) *server {
	t.Helper()
	return serveOn(t, "127.0.0.1:0", answer)
}

func serveOn(t *testing.T, address string, answer func(exchange) string) *server {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var open sync.WaitGroup
	s := &server{address: listener.Addr().String()}
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			open.Go(func() { s.handle(ctx, conn.(*net.TCPConn), answer) })
		}
	})
	s.close = sync.OnceFunc(func() {
		cancel()
		_ = listener.Close()
		open.Wait()
	})
	t.Cleanup(s.close)
	return s
}

func (s *server) handle(ctx context.Context, conn *net.TCPConn, answer func(exchange) string) {
	s.open.Add(1)
	defer s.open.Add(-1)
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	from := bufio.NewReader(conn)
	for number := 1; ; number++ {
		request, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		s.requests.Add(1)
		text := answer(exchange{request, conn, number})
		if _, err := conn.Write([]byte(text)); err != nil || text == "" || request.Close {
			return
		}
	}
}

// planFor is a short plan against servers that are named w1, w2, ...
func planFor(servers ...*server) Plan {
	p := Plan{
		Rate: 500, Duration: Duration(200 * time.Millisecond), Host: "my-app",
		ConnectionsPerTarget: 2, MaxConnections: 1000, Timeout: Duration(30 * time.Second), // however busy the machine
	}
	for i, s := range servers {
		p.Targets = append(p.Targets, Target{Node: fmt.Sprintf("w%d", i+1), Address: s.address})
	}
	return p
}

// runPlan carries out a plan and returns its records in the order of their ids.
func runPlan(t *testing.T, ctx context.Context, plan Plan) (*Summary, []Record) {
	t.Helper()
	var text strings.Builder
	summary, err := Run(ctx, plan, Output{Records: &text})
	require.NoError(t, err)
	records := make([]Record, summary.Requests)
	require.NoError(t, ReadRecords(strings.NewReader(text.String()), func(r Record) error {
		records[r.ID-1] = r
		return nil
	}))
	for i, r := range records {
		require.EqualValues(t, i+1, r.ID, "every request has exactly one record")
	}
	return summary, records
}

// eventually waits until check holds.
func eventually(t *testing.T, subject string, check func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, wait.Until(ctx, subject, time.Millisecond, func(context.Context) error {
		if !check() {
			return fmt.Errorf("not yet")
		}
		return nil
	}))
}
