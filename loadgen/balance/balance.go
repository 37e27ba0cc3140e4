// Package balance is the model of the load balancers in front of the nodes: it
// chooses a node for each request or connection, and takes nodes out and back as
// their health probes say.
package balance

import "sync"

// Balancer spreads picks over the targets that are up in proportion to their
// weights, without chance: by smooth weighted round robin. With equal weights
// that is strict round robin, so counts differ by at most 1 while no target goes
// out or comes back. It is safe for concurrent use.
type Balancer struct {
	mu      sync.Mutex
	targets []target
	total   int // weights of those up
}

type target struct {
	weight, credit int
	up             bool
}

// New makes a balancer of targets with the given positive weights, all up.
func New(weights []int) *Balancer {
	b := &Balancer{targets: make([]target, len(weights))}
	for i, w := range weights {
		b.targets[i] = target{weight: w, up: true}
		b.total += w
	}
	return b
}

// Pick is the index of the next target; ok is false when all are out.
//
// Each pick gives every target its weight as credit, takes the richest one (the
// first of equals) and charges it the sum of the weights: after each cycle of
// that many picks, every target has been taken exactly weight times.
func (b *Balancer) Pick() (index int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	index = -1
	for i := range b.targets {
		t := &b.targets[i]
		if !t.up {
			continue
		}
		t.credit += t.weight
		if index < 0 || t.credit > b.targets[index].credit {
			index = i
		}
	}
	if index < 0 {
		return 0, false
	}
	b.targets[index].credit -= b.total
	return index, true
}

// Set takes a target out or back. All start a new cycle, so that nobody is owed
// the picks of the time when it was out.
func (b *Balancer) Set(index int, up bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets[index].up = up
	b.total = 0
	for i := range b.targets {
		b.targets[i].credit = 0
		if b.targets[i].up {
			b.total += b.targets[i].weight
		}
	}
}

// Up tells whether a target takes part.
func (b *Balancer) Up(index int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.targets[index].up
}

// CountUp is the number of targets that take part.
func (b *Balancer) CountUp() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, t := range b.targets {
		if t.up {
			n++
		}
	}
	return n
}
