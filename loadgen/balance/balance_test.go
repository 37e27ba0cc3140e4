package balance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func picks(b *Balancer, n int) map[int]int {
	counts := make(map[int]int)
	for range n {
		if i, ok := b.Pick(); ok {
			counts[i]++
		}
	}
	return counts
}

func TestEqualWeightsAreStrictRoundRobin(t *testing.T) {
	t.Parallel()
	b := New([]int{1, 1, 1, 1})
	for round := range 3 {
		for want := range 4 {
			got, ok := b.Pick()
			assert.True(t, ok)
			assert.Equal(t, want, got, "round %d", round)
		}
	}
	assert.Equal(t, map[int]int{0: 8000, 1: 8000, 2: 8000, 3: 8000}, picks(b, 32_000))
}

func TestWeightsAreSmooth(t *testing.T) {
	t.Parallel()
	b := New([]int{5, 1, 1})
	var order []int
	for range 7 {
		i, _ := b.Pick()
		order = append(order, i)
	}
	assert.Equal(t, []int{0, 0, 1, 0, 2, 0, 0}, order)
	assert.Equal(t, map[int]int{0: 500, 1: 100, 2: 100}, picks(b, 700))
}

func TestSetTakesOutAndBack(t *testing.T) {
	t.Parallel()
	b := New([]int{1, 1, 1})
	b.Set(1, false)
	assert.False(t, b.Up(1))
	assert.Equal(t, 2, b.CountUp())
	assert.Equal(t, map[int]int{0: 50, 2: 50}, picks(b, 100))
	b.Set(1, true)
	assert.Equal(t, map[int]int{0: 30, 1: 30, 2: 30}, picks(b, 90), "nothing is owed for the time out")
	for i := range 3 {
		b.Set(i, false)
	}
	_, ok := b.Pick()
	assert.False(t, ok)
	assert.Zero(t, b.CountUp())
}

// TestCountsAreExact: after whole cycles every target up has had exactly its
// weight's share, whatever went out and came back before.
func TestCountsAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 8).Draw(t, "weights")
		b := New(weights)
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			picks(b, rapid.IntRange(0, 30).Draw(t, "before"))
			b.Set(rapid.IntRange(0, len(weights)-1).Draw(t, "target"), rapid.Bool().Draw(t, "up"))
		}
		b.Set(0, true) // starts a cycle, and at least one is up
		cycle := 0
		for i, w := range weights {
			if b.Up(i) {
				cycle += w
			}
		}
		got := picks(b, 3*cycle)
		for i, w := range weights {
			want := 0
			if b.Up(i) {
				want = 3 * w
			}
			if got[i] != want {
				t.Fatalf("weights %v: target %d was picked %d times, want %d", weights, i, got[i], want)
			}
		}
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fall, rise int
		probes     string // + good, - failed
		want       string // state after each: U up, d down
	}{
		"stays up":             {3, 2, "++++", "UUUU"},
		"falls":                {3, 2, "---", "UUd"},
		"a good one resets":    {3, 2, "--+--+---", "UUUUUUUUd"},
		"rises":                {1, 2, "-++", "ddU"},
		"a failed one resets":  {1, 2, "-+-+-++", "ddddddU"},
		"at the first of each": {1, 1, "-+-+", "dUdU"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHealth(test.fall, test.rise)
			got, before := "", true
			for _, probe := range test.probes {
				changed := h.Observe(probe == '+')
				assert.Equal(t, before != h.Up(), changed)
				before = h.Up()
				if h.Up() {
					got += "U"
				} else {
					got += "d"
				}
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func BenchmarkPick(b *testing.B) {
	balancer := New([]int{1, 1, 1, 1})
	for b.Loop() {
		balancer.Pick()
	}
}
