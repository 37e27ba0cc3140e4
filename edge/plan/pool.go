package plan

import (
	"net/netip"
	"slices"
)

// pool is the places for the endpoints of one app. An endpoint keeps its place as
// long as it exists, so that nothing changes for it when another comes or goes.
type pool struct {
	places []netip.AddrPort // zero: free
	freed  []uint64         // when each place became free, in assignments
	clock  uint64
}

const (
	leastPlaces = 24
	placesStep  = 8
)

// size is the number of places for n endpoints: twice as many, since a rolling
// update may double them for a while and a bigger pool costs a reload.
func size(n int) int {
	places := max(leastPlaces, 2*n)
	return (places + placesStep - 1) / placesStep * placesStep
}

// assign puts exactly the endpoints of want into places, and grows the pool only
// when there is no place left. Of the free places it takes the one that has been
// free for longest: its last requests are the least likely to be still running.
func (p *pool) assign(want []netip.AddrPort) {
	p.clock++
	missing := make(map[netip.AddrPort]bool, len(want))
	for _, address := range want {
		missing[address] = true
	}
	for i, address := range p.places {
		switch {
		case missing[address]:
			delete(missing, address)
		case address.IsValid():
			p.places[i], p.freed[i] = netip.AddrPort{}, p.clock
		}
	}
	if n := len(want); n > len(p.places) || len(p.places) == 0 {
		p.places = append(p.places, make([]netip.AddrPort, size(n)-len(p.places))...)
		p.freed = append(p.freed, make([]uint64, len(p.places)-len(p.freed))...)
	}
	free := p.free()
	for _, address := range want {
		if missing[address] {
			p.places[free[0]] = address
			free = free[1:]
			delete(missing, address)
		}
	}
}

// free lists the free places, the longest free first.
func (p *pool) free() []int {
	var free []int
	for i, address := range p.places {
		if !address.IsValid() {
			free = append(free, i)
		}
	}
	slices.SortStableFunc(free, func(a, b int) int {
		switch {
		case p.freed[a] < p.freed[b]:
			return -1
		case p.freed[a] > p.freed[b]:
			return 1
		}
		return 0
	})
	return free
}
