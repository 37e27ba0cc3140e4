package loadgen

import (
	"context"
	"net"
	"time"

	"secondhop/loadgen/address"
	"secondhop/loadgen/wire"
)

// worker owns at most one connection and carries one request at a time on it.
type worker struct {
	run       *run
	pool      *pool
	target    int // index of the connection's target
	jobs      chan struct{}
	idleSince time.Duration // the pool's
	record    Record        // the request to be sent; the worker's own from a job's start to its end

	conn   *wire.Conn // nil: none is open
	port   uint16
	reader *wire.Reader
	sender *wire.Sender
}

// newWorker makes a worker and starts it; it waits for its first job.
func (r *run) newWorker(p *pool, target int) *worker {
	w := &worker{
		run: r, pool: p, target: target,
		jobs:   make(chan struct{}, 1),
		reader: wire.NewReader(nil, r.clock.now, r.names),
		sender: wire.NewSender(r.request),
	}
	r.workers.Add(1)
	go w.loop()
	return w
}

// loop serves requests until the pool has no use for the worker any more.
func (w *worker) loop() {
	defer w.run.workers.Done()
	defer w.drop()
	settle := w.settle // made once, not per request
	for range w.jobs {
		w.serve()
		next := again
		for next == again {
			w.run.finish(&w.record)
			if next = w.pool.put(w, w.record.Done, settle); next == again {
				w.serveWaited()
			}
		}
		if next == ended {
			return
		}
	}
}

// serveWaited serves a request that has waited for a free connection, unless its
// time is up already.
func (w *worker) serveWaited() {
	now := w.run.clock.now()
	if now-w.record.Scheduled > time.Duration(w.run.plan.Timeout) {
		w.record.Sent, w.record.Done = now, now
		w.record.Class, w.record.Detail = wire.Limit, "waited for a free connection until its time was up"
		return
	}
	w.serve()
}

// settle closes a connection to a target that has been taken out.
func (w *worker) settle() {
	if w.conn != nil && !w.run.balancer.Up(w.target) {
		w.drop()
	}
}

// serve carries out the one exchange of w.record. There is no second try: a kept
// connection that turns out to be closed before anything was sent on it is
// replaced, whatever happens after that is the request's fate.
func (w *worker) serve() {
	rec := &w.record
	rec.Sent = w.run.clock.now()
	deadline := w.run.clock.at(rec.Sent + time.Duration(w.run.plan.Timeout))
	if w.conn != nil && !w.conn.Quiet() {
		w.run.closedByPeer.Add(1)
		w.drop()
	}
	rec.Reused = w.conn != nil
	if w.conn == nil {
		if detail, class := w.open(rec, deadline); class != wire.OK {
			w.fail(class, detail)
			return
		}
	}
	rec.Node = w.run.plan.Targets[w.target].Node
	rec.Port = w.port
	w.exchange(rec, deadline)
}

func (w *worker) exchange(rec *Record, deadline time.Time) {
	err := w.conn.SetDeadline(deadline)
	if err == nil {
		err = w.sender.Send(w.conn, rec.ID)
	}
	if err != nil {
		w.fail(wire.Classify(err, wire.Waiting, rec.Reused), err.Error())
		return
	}
	answer, err := w.reader.Read(w.run.plan.Method)
	rec.Done = w.run.clock.now()
	rec.Status, rec.Bytes, rec.FirstByte = answer.Status, answer.Bytes, answer.FirstByte
	rec.IngressNode, rec.Server, rec.Pod, rec.PodNode = answer.IngressNode, answer.Server, answer.Pod, answer.PodNode
	if w.run.plan.Direct && rec.IngressNode == "" {
		rec.IngressNode = rec.Node
	}
	if err != nil {
		rec.Class, rec.Detail = wire.Classify(err, w.reader.Stage(), rec.Reused), err.Error()
	} else if answer.Status >= 400 {
		rec.Class = wire.Status
	}
	if !answer.Reusable || w.run.request.Close {
		w.drop()
	}
}

// fail ends a request that did not get as far as an answer.
func (w *worker) fail(class wire.Class, detail string) {
	w.record.Done = w.run.clock.now()
	w.record.Class, w.record.Detail = class, detail
	w.drop()
}

// open connects the worker to its target, or to the one that the balancer gives
// to new connections.
func (w *worker) open(rec *Record, deadline time.Time) (detail string, class wire.Class) {
	if w.run.byConnection {
		target, ok := w.run.balancer.Pick()
		if !ok {
			return noTarget, wire.NoTarget
		}
		w.target = target
	}
	rec.Node = w.run.plan.Targets[w.target].Node
	ctx, cancel := context.WithDeadline(w.run.open, deadline)
	defer cancel()
	tcp, err := address.Dial(ctx, w.run.addresses[w.target])
	rec.Connect = w.run.clock.now() - rec.Sent
	if err != nil {
		return err.Error(), wire.Classify(err, wire.Dialing, false)
	}
	conn, err := wire.NewConn(tcp)
	if err != nil {
		_ = tcp.Close()
		return err.Error(), wire.Internal
	}
	w.conn, w.port = conn, uint16(tcp.LocalAddr().(*net.TCPAddr).Port)
	w.reader.Reset(conn)
	w.run.connections.add(conn)
	return "", wire.OK
}

// drop closes the connection, if there is one.
func (w *worker) drop() {
	if w.conn == nil {
		return
	}
	w.run.connections.remove(w.conn)
	// Nothing is in flight on it, so a failure to close loses nothing.
	_ = w.conn.Close()
	w.conn, w.port = nil, 0
}
