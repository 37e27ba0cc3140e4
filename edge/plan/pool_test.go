package plan

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func address(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(128 + n>>8), byte(n)}), 8080)
}

// TestPoolKeepsPlaces holds for any history: exactly the endpoints asked for have
// a place, each one place, none that stays moves, and the pool never shrinks.
func TestPoolKeepsPlaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p pool
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 0, 40, rapid.ID[int]).Draw(t, "endpoints")
			var want []netip.AddrPort
			for _, n := range numbers {
				want = append(want, address(n))
			}
			before := slices.Clone(p.places)
			p.assign(want)
			check(t, before, p.places, want)
		}
	})
}

func check(t *rapid.T, before, after, want []netip.AddrPort) {
	if len(after) < len(before) {
		t.Fatalf("the pool shrank from %d to %d", len(before), len(after))
	}
	if len(before) > 0 && len(want) <= len(before) && len(after) != len(before) {
		t.Fatalf("the pool of %d grew for %d endpoints", len(before), len(want))
	}
	placed := map[netip.AddrPort]int{}
	for i, a := range after {
		if !a.IsValid() {
			continue
		}
		placed[a]++
		if old := slices.Index(before, a); old >= 0 && old != i {
			t.Fatalf("%s moved from place %d to %d", a, old, i)
		}
	}
	if len(placed) != len(want) {
		t.Fatalf("%d endpoints have places, want %d", len(placed), len(want))
	}
	for _, a := range want {
		if placed[a] != 1 {
			t.Fatalf("%s has %d places", a, placed[a])
		}
	}
}

func TestPoolTakesTheLongestFreePlace(t *testing.T) {
	t.Parallel()
	var p pool
	var all []netip.AddrPort
	p.assign([]netip.AddrPort{address(0)})
	for n := range p.places { // no place is left
		all = append(all, address(n))
	}
	p.assign(all)
	p.assign(all[1:])                                           // place 0 becomes free
	p.assign(all[2:])                                           // then place 1
	p.assign(append([]netip.AddrPort{address(99)}, all[2:]...)) // comes
	if p.places[0] != address(99) || p.places[1].IsValid() {
		t.Errorf("places begin with %v, want the new one at 0", p.places[:2])
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 24, 12: 24, 13: 32, 30: 64, 100: 200} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %d, want %d", n, got, want)
		}
	}
}
