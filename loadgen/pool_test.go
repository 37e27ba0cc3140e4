package loadgen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// idlePool has the given number of warm workers, all of them made and idle.
func idlePool(t *testing.T, warm, most int) (*pool, []*worker) {
	t.Helper()
	p := &pool{warm: warm, keep: warm, most: most, growth: newGrowth(1, 100)}
	workers := make([]*worker, warm)
	for i := range workers {
		w, ok := p.assign(Record{}, 0, newIdleWorker)
		require.True(t, ok)
		workers[i] = w
	}
	for _, w := range workers {
		require.Equal(t, parked, p.put(w, 0, func() {}))
	}
	return p, workers
}

func newIdleWorker() *worker { return &worker{jobs: make(chan struct{}, 1)} }

func noWorker() *worker { panic("no worker is to be made") }

func TestPoolUsesWorkersInTurn(t *testing.T) {
	t.Parallel()
	p, workers := idlePool(t, 3, 10)
	for round := range 200 { // more than once through the ring's room
		for i := range workers {
			w, ok := p.assign(Record{}, 0, noWorker)
			require.True(t, ok)
			require.Same(t, workers[i], w, "round %d", round)
			require.Equal(t, parked, p.put(w, 0, func() {}))
		}
	}
	assert.LessOrEqual(t, cap(p.idle), 512, "the ring does not grow")
}

func TestPoolLetsSurplusFallIdle(t *testing.T) {
	t.Parallel()
	p, workers := idlePool(t, 2, 10)
	for range 2 {
		_, _ = p.assign(Record{}, 0, noWorker)
	}
	extra, ok := p.assign(Record{}, 0, newIdleWorker) // both are busy
	require.True(t, ok)
	p.put(workers[0], time.Second, func() {})
	p.put(workers[1], 2*time.Second, func() {})
	p.put(extra, 3*time.Second, func() {})
	for range 5 {
		w, _ := p.assign(Record{}, 0, noWorker)
		require.Same(t, extra, w, "the last used goes first")
		p.put(w, 4*time.Second, func() {})
	}
	p.trim(time.Second + surplusIdle - 1)
	assert.Equal(t, 3, p.count, "not idle for long enough")
	p.trim(time.Second + surplusIdle)
	assert.Equal(t, 2, p.count)
	_, open := <-workers[0].jobs
	assert.False(t, open, "the longest idle one was ended")
	p.trim(time.Hour)
	assert.Equal(t, 2, p.count, "those that are kept stay")
}

func TestPoolGivesWaitingRequestsInOrder(t *testing.T) {
	t.Parallel()
	p := &pool{warm: 1, keep: 1, most: 1, growth: newGrowth(1, 100)}
	w, _ := p.assign(Record{ID: 1}, 0, newIdleWorker)
	for id := range uint64(3) {
		busy, ok := p.assign(Record{ID: id + 2}, 0, noWorker)
		require.True(t, ok)
		require.Nil(t, busy)
	}
	for id := range uint64(3) {
		require.Equal(t, again, p.put(w, 0, func() {}))
		assert.Equal(t, id+2, w.record.ID)
	}
	assert.Equal(t, parked, p.put(w, 0, func() {}))
	assert.EqualValues(t, 3, p.waited)
}

func TestPoolBoundsWhatWaits(t *testing.T) {
	t.Parallel()
	p := &pool{warm: 1, keep: 1, most: 1, growth: newGrowth(1, 100)}
	_, _ = p.assign(Record{}, 0, newIdleWorker)
	for range mostWaiting {
		_, ok := p.assign(Record{}, 0, noWorker)
		require.True(t, ok)
	}
	_, ok := p.assign(Record{}, 0, noWorker)
	assert.False(t, ok)
}

func TestPoolShutDownEndsBusyWorkersAsTheyComeBack(t *testing.T) {
	t.Parallel()
	p, workers := idlePool(t, 2, 2)
	busy, _ := p.assign(Record{}, 0, noWorker)
	p.shutDown()
	_, open := <-workers[1].jobs
	assert.False(t, open)
	assert.Equal(t, ended, p.put(busy, 0, func() {}))
	assert.Zero(t, p.count)
}

// TestPoolKeepsCount runs random histories: no worker is ever with two requests,
// none is lost, and no request is.
func TestPoolKeepsCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &pool{warm: rapid.IntRange(0, 4).Draw(t, "warm"), keep: 4, most: rapid.IntRange(4, 8).Draw(t, "most"), growth: newGrowth(1, 2)}
		busy := make(map[*worker]bool)
		given, waiting, now := uint64(0), 0, time.Duration(0)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				given++
				waiting++ // unless it is given a worker, or takes the place of one that is
				w, ok := p.assign(Record{ID: given}, now, newIdleWorker)
				if !ok || busy[w] {
					t.Fatal("refused, or given a worker that is busy")
				}
				if w != nil {
					waiting--
					busy[w] = true
				}
			case 2:
				for w := range busy {
					if p.put(w, 0, func() {}) == again {
						waiting--
					} else {
						delete(busy, w)
					}
					break
				}
			case 3:
				p.trim(time.Hour)
			}
			idle := len(p.idle) - p.head
			if p.count != idle+len(busy) || p.count > p.most || waiting != len(p.waiting)-p.next {
				t.Fatalf("count %d, idle %d, busy %d, waiting %d", p.count, idle, len(busy), waiting)
			}
			if waiting > 0 && idle > 0 {
				t.Fatal("a request waits while a worker is idle")
			}
		}
	})
}

// TestGrowth: requests that come due one by one never wait, however slow the
// server is; those of a
// time when the generator stood still open no more connections than are allowed.
func TestGrowth(t *testing.T) {
	t.Parallel()
	p := &pool{warm: 2, keep: 2, most: 10_000, growth: newGrowth(500, 16)}
	id := uint64(0)
	due := func(now time.Duration) *worker {
		id++
		w, ok := p.assign(Record{ID: id}, now, newIdleWorker)
		require.True(t, ok)
		return w
	}
	for i := range 1000 {
		w := due(time.Duration(i) * 2 * time.Millisecond)
		require.NotNil(t, w)
		require.Equal(t, id, w.record.ID)
	}
	opened := 0
	late := 2250 * time.Millisecond // 125 are due at once
	for range 125 {
		if due(late) != nil {
			opened++
		}
	}
	assert.Equal(t, 16, opened)
	assert.EqualValues(t, 109, p.waited)
	// The next one due opens a connection, for the one that has waited longest.
	w := due(late + 2*time.Millisecond)
	require.NotNil(t, w)
	assert.EqualValues(t, 1017, w.record.ID)
}
