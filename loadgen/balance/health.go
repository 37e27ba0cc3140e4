package balance

// Health turns the results of one target's probes into up and down: Fall failed
// probes in a row take it out, Rise good ones in a row bring it back.
type Health struct {
	fall, rise int
	down       bool
	streak     int // probes in a row that speak against the present state
}

// NewHealth is the health of a target that is up.
func NewHealth(fall, rise int) *Health { return &Health{fall: fall, rise: rise} }

// Observe takes the result of one probe and tells whether the state changed.
func (h *Health) Observe(good bool) (changed bool) {
	if good != h.down {
		h.streak = 0
		return false
	}
	h.streak++
	limit := h.fall
	if h.down {
		limit = h.rise
	}
	if h.streak < limit {
		return false
	}
	h.down, h.streak = !h.down, 0
	return true
}

// Up is the present state.
func (h *Health) Up() bool { return !h.down }
