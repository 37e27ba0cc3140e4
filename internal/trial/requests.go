package trial

import (
	"fmt"
	"os"
	"sync"
	"time"

	"secondhop/internal/measure"
	"secondhop/loadgen"
)

// Requests are the requests of a run. They stay where they are, in a file, and are
// read anew for every question, so that the memory of a run does not depend on its
// length. Tallies are kept. Many goroutines may use it.
type Requests struct {
	from  measure.Source
	end   time.Duration
	whole *measure.Tally

	mu      sync.Mutex
	tallies map[measure.Window]*measure.Tally
}

// OpenRequests reads a requests.jsonl once: a record that cannot be read is an error
// now and not in the middle of a judgement. The whole of it is counted in passing.
func OpenRequests(path string) (*Requests, error) {
	r, err := NewRequests(recordFile(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// NewRequests is OpenRequests of any source.
func NewRequests(from measure.Source) (*Requests, error) {
	r := &Requests{from: from, tallies: map[measure.Window]*measure.Tally{}}
	whole := measure.NewTally()
	var last time.Duration
	err := from.Each(func(record loadgen.Record) error {
		last = max(last, record.Scheduled)
		whole.Add(record)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.end, r.whole = last+1, whole
	r.tallies[measure.Window{To: r.end}] = whole
	return r, nil
}

// End is past the last scheduled instant.
func (r *Requests) End() time.Duration { return r.end }

// Each calls each with every request, in the order in which they ended, and stops at
// its first error.
func (r *Requests) Each(each func(loadgen.Record) error) error { return r.from.Each(each) }

// Tallies counts the requests of every window, in one reading for all windows that
// were not asked for before. The tallies are shared: they must not be changed.
func (r *Requests) Tallies(windows ...measure.Window) ([]*measure.Tally, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var missing []measure.Window
	for i := range windows {
		if windows[i].To == 0 || windows[i].To > r.end {
			windows[i].To = r.end
		}
		if r.tallies[windows[i]] == nil {
			missing = append(missing, windows[i])
		}
	}
	if len(missing) > 0 {
		counted, err := measure.Tallies(r.from, missing...)
		if err != nil {
			return nil, err
		}
		for i, window := range missing {
			r.tallies[window] = counted[i]
		}
	}
	all := make([]*measure.Tally, len(windows))
	for i, window := range windows {
		all[i] = r.tallies[window]
	}
	return all, nil
}

// recordFile is a requests.jsonl.
type recordFile string

// Each reads the file from its beginning.
func (f recordFile) Each(each func(loadgen.Record) error) error {
	file, err := os.Open(string(f))
	if err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	defer file.Close()
	if err := loadgen.ReadRecords(file, each); err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	return nil
}
