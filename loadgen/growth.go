package loadgen

import "time"

// growth limits how fast connections beyond the warm ones are opened to the rate
// at which requests are due. Requests that come due one by one never meet the
// limit: each may have a connection of its own. When the generator itself was
// held up, the requests of that time come due all at once; without the limit,
// all but a few would open connections, for which the system is not to blame.
type growth struct {
	rate   float64 // per second
	burst  float64
	tokens float64
	last   time.Duration
}

func newGrowth(rate, burst float64) growth {
	return growth{rate: rate, burst: burst, tokens: burst}
}

// take asks for one connection at the time now, which never runs backwards.
func (g *growth) take(now time.Duration) bool {
	g.tokens = min(g.burst, g.tokens+(now-g.last).Seconds()*g.rate)
	g.last = now
	if g.tokens < 1 {
		return false
	}
	g.tokens--
	return true
}
