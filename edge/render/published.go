package render

import "fmt"

// published writes the draw as it was first described. Nothing looks at whether a
// slot is up, so that the band of one that is not stays, and what falls into it is
// balanced over the cluster.
func (w *writer) published(slots []Slot) {
	last := ""
	for _, slot := range slots {
		end := fmt.Sprintf("txn.slot_end%d", slot.Number)
		if last == "" {
			w.line("http-request set-var(%s) srv_weight(%s)", end, slot.Name())
		} else {
			w.line("http-request set-var(%s) srv_weight(%s),add(%s)", end, slot.Name(), last)
		}
		last = end
	}
	if last == "" {
		return
	}
	w.line("http-request set-var(txn.range) int(%d)", DrawRange)
	w.line("http-request set-var(txn.range) var(%s) if { var(%s) -m int gt %d }", last, last, DrawRange)
	w.line("http-request set-var(txn.draw) rand(65536),mul(txn.range),div(65536)")
	for _, slot := range slots {
		w.line("use-server %s if { var(txn.draw),sub(txn.slot_end%d) -m int lt 0 }", slot.Name(), slot.Number)
	}
}

// publishedSlot is closed (disabled) until its agent says ready, which the agents
// that came with it never do.
func (w *writer) publishedSlot(s Slot) {
	w.line("server %s %s disabled backup weight 100 slowstart 60s check inter 2s agent-check agent-port %d agent-inter 2s", s.Name(), s.Address, s.AgentPort)
}
