package render

import (
	"bufio"
	"fmt"
	"io"
)

// DrawRange is the width of the draw while the slots' weights add up to less:
// four slots of weight 100 keep 400 of 480, five sixths.
const DrawRange = 480

// Draw writes the rules and servers of slots alone, to be pasted into a backend
// that has regular servers. serverOptions is added to each server line.
func Draw(w io.Writer, slots []Slot, serverOptions string) error {
	if err := validSlots(slots); err != nil {
		return fmt.Errorf("render draw: %w", err)
	}
	out := &writer{Writer: bufio.NewWriter(w)}
	out.failover(true)
	out.draw(slots)
	for _, slot := range slots {
		out.slot(slot, serverOptions)
	}
	return out.Flush()
}

// draw writes the rules that pick a slot: slot n owns the numbers from the end of
// the band before up to its own end, and a slot that is not up has no band. The
// conditions need no lower ends, since the first rule that holds decides.
func (w *writer) draw(slots []Slot) {
	if len(slots) == 0 {
		return
	}
	last := ""
	for _, slot := range slots {
		end, name := fmt.Sprintf("txn.slot_end%d", slot.Number), slot.Name()
		if last == "" {
			w.line("http-request set-var(%s) int(0)", end)
			w.line("http-request set-var(%s) srv_weight(%s) if { srv_is_up(%s) }", end, name, name)
		} else {
			w.line("http-request set-var(%s) var(%s)", end, last)
			w.line("http-request set-var(%s) srv_weight(%s),add(%s) if { srv_is_up(%s) }", end, name, last, name)
		}
		last = end
	}
	w.line("http-request set-var(txn.draw) rand(%d)", DrawRange)
	// Weights set by agents may add up to more: then the slots share all there is.
	w.line("http-request set-var(txn.draw) rand(65536),mul(%s),div(65536) if { var(%s) -m int gt %d }", last, last, DrawRange)
	for _, slot := range slots {
		w.line("use-server %s if { var(txn.draw),sub(txn.slot_end%d) -m int lt 0 }", slot.Name(), slot.Number)
	}
}

// slot writes a slot's server. It starts closed (disabled) until its agent says
// ready, is never balanced over while a regular server is up (backup), and is
// left at once when connections to it fail (observe).
func (w *writer) slot(s Slot, options string) {
	if options != "" {
		options = " " + options
	}
	w.line("server %s %s disabled backup weight 100 check inter 2s fastinter 500ms observe layer4 error-limit 5 on-error mark-down "+
		"agent-check agent-port %d agent-inter 1s%s", s.Name(), s.Address, s.AgentPort, options)
}
