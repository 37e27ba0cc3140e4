package loadgen

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"secondhop/loadgen/address"
	"secondhop/loadgen/bench"
	"secondhop/loadgen/wire"
)

// BenchmarkHandOver compares two designs of the engine on one core, with the
// trivial server in the same process: a goroutine that stays with its connection
// and is handed requests, and a goroutine for each request that takes an idle
// connection. Both carry out the same exchange, 32 at a time.
func BenchmarkHandOver(b *testing.B) {
	exchange := func(b *testing.B, conn *wire.Conn, sender *wire.Sender, reader *wire.Reader) {
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil || !conn.Quiet() {
			b.Error("connection is not usable", err)
		}
		if err := sender.Send(conn, 1); err != nil {
			b.Error(err)
		}
		if _, err := reader.Read("GET"); err != nil {
			b.Error(err)
		}
	}
	b.Run("worker per connection", func(b *testing.B) {
		idle := make(chan chan struct{}, 32)
		for _, c := range benchConnections(b) {
			jobs := make(chan struct{}, 1)
			b.Cleanup(func() { close(jobs) })
			go func() {
				for range jobs {
					exchange(b, c.conn, c.sender, c.reader)
					idle <- jobs
				}
			}()
			idle <- jobs
		}
		for b.Loop() {
			worker := <-idle
			worker <- struct{}{}
		}
		for range 32 {
			<-idle
		}
	})
	b.Run("goroutine per request", func(b *testing.B) {
		idle := make(chan benchConnection, 32)
		for _, c := range benchConnections(b) {
			idle <- c
		}
		for b.Loop() {
			c := <-idle
			go func() {
				exchange(b, c.conn, c.sender, c.reader)
				idle <- c
			}()
		}
		for range 32 {
			<-idle
		}
	})
}

type benchConnection struct {
	conn   *wire.Conn
	sender *wire.Sender
	reader *wire.Reader
}

// benchConnections are 32 to a trivial server, on one core until the benchmark ends.
func benchConnections(b *testing.B) []benchConnection {
	b.Helper()
	procs := runtime.GOMAXPROCS(1)
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bench.Serve(ctx, listener, 200) }()
	b.Cleanup(func() {
		cancel()
		<-ended
		runtime.GOMAXPROCS(procs)
	})
	to, err := address.Parse(listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	names, clock := wire.NewNames(), startClock()
	connections := make([]benchConnection, 32)
	for i := range connections {
		tcp, err := address.Dial(ctx, to)
		if err != nil {
			b.Fatal(err)
		}
		conn, err := wire.NewConn(tcp)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		connections[i] = benchConnection{
			conn: conn, sender: wire.NewSender(wire.Request{Method: "GET", Host: "bench", Path: "/"}),
			reader: wire.NewReader(conn, clock.now, names),
		}
	}
	return connections
}
