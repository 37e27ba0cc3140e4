package loadgen

import (
	"fmt"
	"io"
	"strconv"
	"sync"
)

// batchSize is how many bytes of records are gathered before they are handed to
// the writing goroutine; queuedBatches is how many may wait for a slow disk.
const (
	batchSize     = 128 << 10
	queuedBatches = 256
)

// collector takes the records of all workers, keeps the sums, and streams the
// records out. Its memory does not depend on the length of the run.
type collector struct {
	mu    sync.Mutex
	batch []byte
	sums  sums

	full chan []byte // to the writer
	free chan []byte // back from it
	done chan error  // the writer's first error, once
}

// sums are what a summary is made of.
type sums struct {
	requests, failed                     uint64
	bytes                                int64
	byClass                              map[Class]uint64
	byStatus                             map[int]uint64
	byTarget                             map[string]uint64
	byServer                             map[servedBy]uint64
	byPod                                map[string]uint64
	response, service, lateness, connect *histogram
	firstScheduled, lastScheduled        int64
	firstSent, lastSent                  int64
}

type servedBy struct{ ingress, server string }

// newCollector starts the goroutine that writes to records; close ends it.
func newCollector(records io.Writer) *collector {
	c := &collector{
		batch: make([]byte, 0, batchSize+4096),
		full:  make(chan []byte, queuedBatches),
		free:  make(chan []byte, queuedBatches),
		done:  make(chan error, 1),
		sums: sums{
			byClass: make(map[Class]uint64), byStatus: make(map[int]uint64),
			byTarget: make(map[string]uint64), byServer: make(map[servedBy]uint64),
			byPod:    make(map[string]uint64),
			response: newHistogram(), service: newHistogram(), lateness: newHistogram(), connect: newHistogram(),
		},
	}
	go c.write(records)
	return c
}

// add takes one record. It waits only when the disk is 32 MiB behind.
func (c *collector) add(r *Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums.add(r)
	c.batch = r.AppendJSON(c.batch)
	if len(c.batch) >= batchSize {
		c.handOver()
	}
}

// flush hands over what has been gathered, so that the results of a run that is
// killed are at most one call old.
func (c *collector) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.batch) > 0 {
		c.handOver()
	}
}

func (c *collector) handOver() {
	c.full <- c.batch
	select {
	case c.batch = <-c.free:
	default:
		c.batch = make([]byte, 0, batchSize+4096)
	}
}

// write goes on taking batches after an error, since the run goes on.
func (c *collector) write(records io.Writer) {
	var failed error
	for batch := range c.full {
		if failed == nil {
			if _, err := records.Write(batch); err != nil {
				failed = fmt.Errorf("write records: %w", err)
			}
		}
		select {
		case c.free <- batch[:0]:
		default:
		}
	}
	c.done <- failed
}

// close writes the rest and returns the first error of writing.
func (c *collector) close() error {
	c.flush()
	close(c.full)
	return <-c.done
}

func (s *sums) add(r *Record) {
	s.addInstants(r)
	s.requests++
	s.bytes += r.Bytes
	s.byClass[r.Class]++
	if r.Failed() {
		s.failed++
	}
	if r.Status != 0 {
		s.byStatus[r.Status]++
	}
	if r.Node != "" {
		s.byTarget[r.Node]++
	}
	if r.IngressNode != "" || r.Server != "" {
		s.byServer[servedBy{r.IngressNode, r.Server}]++
	}
	if r.Pod != "" {
		s.byPod[r.Pod]++
	}
	s.response.record(r.Response())
	s.service.record(r.Service())
	s.lateness.record(r.Lateness())
	if r.Connect > 0 {
		s.connect.record(r.Connect)
	}
}

// addInstants keeps the first and last instants; records do not come in order.
func (s *sums) addInstants(r *Record) {
	scheduled, sent := int64(r.Scheduled), int64(r.Sent)
	if s.requests == 0 {
		s.firstScheduled, s.lastScheduled = scheduled, scheduled
		s.firstSent, s.lastSent = sent, sent
		return
	}
	s.firstScheduled, s.lastScheduled = min(s.firstScheduled, scheduled), max(s.lastScheduled, scheduled)
	s.firstSent, s.lastSent = min(s.firstSent, sent), max(s.lastSent, sent)
}

// rates are requests per second between the first and the last instant, as
// scheduled and as taken up.
func (s *sums) rates() (offered, achieved float64) {
	if s.requests < 2 {
		return 0, 0
	}
	gaps := float64(s.requests-1) * 1e9
	return gaps / float64(s.lastScheduled-s.firstScheduled), gaps / float64(max(1, s.lastSent-s.firstSent))
}

// describe fills in the parts of a summary that are about requests.
func (s *sums) describe(into *Summary) {
	into.Requests, into.Failed, into.BodyBytes = s.requests, s.failed, s.bytes
	into.Offered, into.Achieved = s.rates()
	into.ByClass = make(map[string]uint64, len(s.byClass))
	for class, n := range s.byClass {
		if class == "" {
			class = "ok"
		}
		into.ByClass[string(class)] = n
	}
	into.ByStatus = make(map[string]uint64, len(s.byStatus))
	for status, n := range s.byStatus {
		into.ByStatus[strconv.Itoa(status)] = n
	}
	into.ByServer = make(map[string]map[string]uint64)
	for by, n := range s.byServer {
		if into.ByServer[by.ingress] == nil {
			into.ByServer[by.ingress] = make(map[string]uint64)
		}
		into.ByServer[by.ingress][by.server] = n
	}
	into.ByTarget, into.ByPod = s.byTarget, s.byPod
	into.Response, into.Service = s.response.quantiles(), s.service.quantiles()
	into.Lateness, into.Connect = s.lateness.quantiles(), s.connect.quantiles()
}
