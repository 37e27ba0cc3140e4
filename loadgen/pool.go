package loadgen

import (
	"sync"
	"time"
)

// surplusIdle is how long a connection beyond those that are kept may lie idle.
// Closing it at once would make each stall of the system a storm of new
// connections, of which the system may not recover: the generator's doing.
const surplusIdle = 10 * time.Second

// mostWaiting bounds the memory of a pool whose connections are all busy.
const mostWaiting = 50_000

// pool holds the workers of one target, or of all targets when the balancer
// chooses by connection.
type pool struct {
	mu    sync.Mutex
	warm  int       // workers that are made before idle ones are used
	keep  int       // workers that stay however long they are idle
	most  int       // workers that may exist
	count int       // workers that exist
	idle  []*worker // idle[head:], the longest idle first
	head  int
	shut  bool

	growth growth // beyond warm

	waiting []Record // waiting[next:], while all workers are busy and none may be made
	next    int
	waited  uint64 // requests that ever waited
}

// assign finds a worker for a request that comes due at the time now: an idle
// one, or one made by create while fewer exist than are wanted warm and when all
// are busy, since an open-loop client does not wait. Only when none is idle and
// none may be made, the request waits for the first to become free, which its
// instants tell, and the result is nil. A worker that is returned has its record:
// that of the request, or of one that has waited longer. ok is false when too
// many wait already.
//
// Workers take turns, so that every kept connection carries its share; but while
// there are surplus ones the last used goes first, and the surplus fall idle.
func (p *pool) assign(request Record, now time.Duration, create func() *worker) (w *worker, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.count < p.warm:
		w = p.make(create)
	case p.head < len(p.idle):
		w = p.unpark()
	default:
		return p.assignBusy(request, now, create)
	}
	w.record = request
	return w, true
}

// assignBusy is assign when no worker is idle.
func (p *pool) assignBusy(request Record, now time.Duration, create func() *worker) (w *worker, ok bool) {
	if len(p.waiting)-p.next == mostWaiting {
		return nil, false
	}
	p.waiting = append(p.waiting, request)
	if p.count == p.most || !p.growth.take(now) {
		p.waited++
		return nil, true
	}
	w = p.make(create)
	w.record = p.dequeue()
	return w, true
}

func (p *pool) make(create func() *worker) *worker {
	p.count++
	return create()
}

// unpark takes an idle worker; there is one.
func (p *pool) unpark() (w *worker) {
	if p.count > p.warm {
		w = p.idle[len(p.idle)-1]
		p.idle[len(p.idle)-1] = nil
		p.idle = p.idle[:len(p.idle)-1]
	} else {
		w = p.idle[p.head]
		p.idle[p.head] = nil
		p.head++
	}
	if p.head == len(p.idle) {
		p.idle, p.head = p.idle[:0], 0
	}
	return w
}

// outcome is what becomes of a worker that has ended a request.
type outcome int

const (
	parked outcome = iota // it is idle
	again                 // it has been given the request that waited longest
	ended                 // there is no use for it any more
)

// put takes a worker back at the time now. settle is called under the pool's
// lock, so that evict cannot come between it and the worker's becoming idle.
func (p *pool) put(w *worker, now time.Duration, settle func()) outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	settle()
	if p.next < len(p.waiting) {
		w.record = p.dequeue()
		return again
	}
	if p.shut {
		p.count--
		return ended
	}
	if p.head > 64 && p.head > len(p.idle)/2 { // the room in front is used again
		kept := copy(p.idle, p.idle[p.head:])
		clear(p.idle[kept:])
		p.idle, p.head = p.idle[:kept], 0
	}
	w.idleSince = now
	p.idle = append(p.idle, w)
	return parked
}

func (p *pool) dequeue() Record {
	request := p.waiting[p.next]
	p.next++
	if p.next == len(p.waiting) {
		p.waiting, p.next = p.waiting[:0], 0
	} else if p.next > 4096 && p.next > len(p.waiting)/2 {
		kept := copy(p.waiting, p.waiting[p.next:])
		p.waiting, p.next = p.waiting[:kept], 0
	}
	return request
}

// trim ends the surplus workers that have been idle for long at the time now.
func (p *pool) trim(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	surplus := p.count - p.keep
	p.evictLocked(func(w *worker) bool {
		if surplus <= 0 || now-w.idleSince < surplusIdle {
			return false
		}
		surplus--
		return true
	})
}

// evict ends the idle workers for which out is true.
func (p *pool) evict(out func(*worker) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.evictLocked(out)
}

func (p *pool) evictLocked(out func(*worker) bool) {
	kept := p.idle[:p.head]
	for _, w := range p.idle[p.head:] {
		if out(w) {
			p.count--
			close(w.jobs)
			continue
		}
		kept = append(kept, w)
	}
	clear(p.idle[len(kept):])
	p.idle = kept
}

// shutDown ends all idle workers, and busy ones as they come back.
func (p *pool) shutDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	p.evictLocked(func(*worker) bool { return true })
}
