package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

const (
	maxPosts  = 1 << 16
	maxPostID = 64 // bytes
)

// posts remembers the ids of POST requests that were served, the last maxPosts of
// them: a balancer must not send one twice.
type posts struct {
	mu     sync.Mutex
	counts map[string]int // by id, of those in ring
	ring   []string
	next   int // where the ring goes on when it is full
	report PostReport
}

// PostReport is the answer to /duplicates.
type PostReport struct {
	Posts      int64          `json:"posts"`      // with an id, served since the start
	Forgotten  int64          `json:"forgotten"`  // ids too old to be remembered
	Duplicates map[string]int `json:"duplicates"` // how often each id was served that was served again
}

func (p *posts) note(id string) {
	id = id[:min(len(id), maxPostID)]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.report.Posts++
	p.counts[id]++
	if p.counts[id] > 1 {
		return
	}
	if len(p.ring) < maxPosts {
		p.ring = append(p.ring, id)
		return
	}
	delete(p.counts, p.ring[p.next])
	p.report.Forgotten++
	p.ring[p.next] = id
	p.next = (p.next + 1) % maxPosts
}

// serveDuplicates answers a PostReport.
func (p *posts) serveDuplicates(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	report := p.report
	report.Duplicates = map[string]int{}
	for id, n := range p.counts {
		if n > 1 {
			report.Duplicates[id] = n
		}
	}
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(report)
}

// servePosts answers the remembered ids, one a line: a request that two pods
// served is only seen by whoever compares them.
func (p *posts) servePosts(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	ids := make([]string, len(p.ring))
	copy(ids, p.ring)
	p.mu.Unlock()
	for _, id := range ids {
		fmt.Fprintln(w, id)
	}
}

// forget begins anew, for a load whose ids start over.
func (p *posts) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts, p.ring, p.next, p.report = nil, nil, 0, PostReport{}
}
