package observe

import (
	"fmt"
	"time"

	"secondhop/clusters/links"
	"secondhop/internal/units"
)

// LinkDelta is what a node's link carried between two readings, as the queueing
// disciplines at its two ends count: whole frames, every segment with its header.
type LinkDelta struct {
	Window time.Duration `json:"window"`
	In     links.Counter `json:"in"`  // into the node
	Out    links.Counter `json:"out"` // out of it
}

// InRate and OutRate are the mean rates of the window.
func (d LinkDelta) InRate() units.BitRate { return units.RateOf(d.In.Bytes, d.Window) }

// OutRate is the mean rate out of the node.
func (d LinkDelta) OutRate() units.BitRate { return units.RateOf(d.Out.Bytes, d.Window) }

// linkDeltas subtracts by node. Counters that went back were set to 0 by shaping
// the link anew, which makes a window worthless.
func linkDeltas(before, after map[string]links.Counters) (map[string]LinkDelta, error) {
	deltas := map[string]LinkDelta{}
	for node, end := range after {
		start, known := before[node]
		if !known {
			return nil, fmt.Errorf("the link of %s was not read at the start", node)
		}
		if end.In.Bytes < start.In.Bytes || end.Out.Bytes < start.Out.Bytes {
			return nil, fmt.Errorf("the link of %s was shaped anew in the meantime: its counters went back", node)
		}
		deltas[node] = LinkDelta{end.At.Sub(start.At), end.In.Sub(start.In), end.Out.Sub(start.Out)}
	}
	return deltas, nil
}
