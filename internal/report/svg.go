package report

import (
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"secondhop/internal/locality"
	"secondhop/internal/measure"
)

// The geometry of the picture in pixels.
const (
	svgWidth, svgHeight = 760, 300
	plotTop, plotHeight = 56, 176
	panelWidth          = 330
	leftPanel           = 44
	rightPanel          = 424
)

// svgStyle follows the reader's colour scheme; the bars are told apart by
// lightness too, for those who do not see the colours.
const svgStyle = `<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 13px } .small { font-size: 11px; fill: #59636e }
.grid { stroke: #d1d9e0; stroke-width: 1 } .mark { stroke: #1f2328; stroke-width: 1.5 }
.endpoints { fill: #afb8c1 } .slots { fill: #0969da } .expect { stroke: #cf222e; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .grid { stroke: #3d444d } .mark { stroke: #f0f6fc }
.endpoints { fill: #656c76 } .slots { fill: #4493f8 } .expect { stroke: #ff7b72 } }
</style>
`

// pair is a row of plain balancing and the row of the slots beside it.
type pair struct{ plain, slots Row }

// pairOf is the first two rows of one group and placement that have what is asked.
func pairOf(rows []Row, has func(NodeRow) bool) (pair, bool) {
	complete := func(r Row) bool {
		return len(r.Nodes) > 0 && !slices.ContainsFunc(r.Nodes, func(n NodeRow) bool { return !has(n) })
	}
	for _, slotsRow := range rows {
		if slotsRow.Strategy != string(locality.Slots) || !complete(slotsRow) {
			continue
		}
		for _, plain := range rows {
			if plain.Strategy == string(locality.Endpoints) && plain.Group == slotsRow.Group &&
				slices.Equal(plain.Placement, slotsRow.Placement) && complete(plain) && len(plain.Nodes) == len(slotsRow.Nodes) {
				return pair{plain, slotsRow}, true
			}
		}
	}
	return pair{}, false
}

// bar is one bar of a panel; whisker and expected are drawn where they are set.
type bar struct {
	class    string
	value    float64
	whisker  *measure.Interval
	expected float64
	label    string
}

// panel is a chart of two bars per node.
type panel struct {
	left   int
	title  string
	top    float64 // value at the upper edge
	ticks  []float64
	tick   func(float64) string
	labels []string
	bars   [][2]bar
}

// WriteSVG draws the local share and the inbound bytes of every node, plain
// balancing beside slots, with 95 % intervals and expected values. It fails if
// the result has no such pair of rows.
func (r Result) WriteSVG(w io.Writer) error {
	shares, haveShares := pairOf(r.Rows, func(n NodeRow) bool { return n.Local != nil })
	bytes, haveBytes := pairOf(r.Rows, func(n NodeRow) bool { return n.Bytes != nil })
	if !haveShares && !haveBytes {
		return errors.New("draw the result: it has no rows of endpoints and slots on the same placement with figures per node")
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n",
		svgWidth, svgHeight, svgWidth, svgHeight)
	fmt.Fprintf(&b, "<title>%s</title>\n%s", html.EscapeString("Local share and inbound bytes per node, plain balancing and slots"), svgStyle)
	if haveShares {
		sharePanel(shares).draw(&b)
	}
	if haveBytes {
		bytePanel(bytes).draw(&b)
	}
	legend(&b)
	b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("draw the result: %w", err)
	}
	return nil
}

func sharePanel(p pair) panel {
	out := panel{
		left: leftPanel, title: "requests served on the node of their ingress", top: 1,
		ticks: []float64{0, .25, .5, .75, 1}, tick: func(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) },
		labels: nodeLabels(p.slots.Nodes),
	}
	for i := range p.slots.Nodes {
		one := func(class string, e *Estimate) bar {
			return bar{class, e.Observed, &e.Interval, e.Expected, fmt.Sprintf("%.0f", 100*e.Observed)}
		}
		out.bars = append(out.bars, [2]bar{one("endpoints", p.plain.Nodes[i].Local), one("slots", p.slots.Nodes[i].Local)})
	}
	return out
}

func bytePanel(p pair) panel {
	most := 0.0
	for i := range p.slots.Nodes {
		most = max(most, p.plain.Nodes[i].Bytes.In, p.slots.Nodes[i].Bytes.In)
	}
	step := niceStep(most / 4)
	out := panel{
		left: rightPanel, title: "inbound bytes per request, by node", top: step * math.Ceil(most*1.02/step),
		tick: func(v float64) string { return measure.Count(int64(v)) }, labels: nodeLabels(p.slots.Nodes),
	}
	for v := 0.0; v <= out.top; v += step {
		out.ticks = append(out.ticks, v)
	}
	for i := range p.slots.Nodes {
		one := func(class string, b *Bytes) bar {
			return bar{class, b.In, nil, b.Predicted, measure.Count(int64(math.Round(b.In)))}
		}
		out.bars = append(out.bars, [2]bar{one("endpoints", p.plain.Nodes[i].Bytes), one("slots", p.slots.Nodes[i].Bytes)})
	}
	return out
}

// niceStep is the least of 1, 2, 5 times a power of ten that is not below v.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= v {
			return factor * power
		}
	}
	return 10 * power
}

// nodeLabels are the nodes without what all their names begin with, and pods.
func nodeLabels(nodes []NodeRow) []string {
	prefix := nodes[0].Node
	for _, n := range nodes {
		for !strings.HasPrefix(n.Node, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = prefix[:strings.LastIndex(prefix, "-")+1]
	var labels []string
	for _, n := range nodes {
		plural := "s"
		if n.Pods == 1 {
			plural = ""
		}
		labels = append(labels, fmt.Sprintf("%s\n%d pod%s", strings.TrimPrefix(n.Node, prefix), n.Pods, plural))
	}
	return labels
}

func (p panel) draw(b *strings.Builder) {
	y := func(v float64) float64 {
		return plotTop + plotHeight*(1-math.Min(math.Max(v, 0), p.top)/p.top)
	}
	text(b, p.left, plotTop-30, "start", "title", p.title)
	for _, tick := range p.ticks {
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+"\n", p.left, p.left+panelWidth-12, y(tick), y(tick))
		text(b, p.left-6, int(y(tick))+4, "end", "small", p.tick(tick))
	}
	slot := float64(panelWidth-12) / float64(len(p.bars))
	width := math.Min(34, slot*0.38)
	for i, both := range p.bars {
		middle := float64(p.left) + slot*(float64(i)+0.5)
		for side, bar := range both {
			bar.draw(b, middle+width*(float64(side)-1), width-2, y)
		}
		for row, label := range strings.Split(p.labels[i], "\n") {
			text(b, int(middle), plotTop+plotHeight+17+15*row, "middle", []string{"", "small"}[row], label)
		}
	}
}

func (r bar) draw(b *strings.Builder, x, width float64, y func(float64) float64) {
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", r.class, x, y(r.value), width, y(0)-y(r.value))
	above := y(r.value)
	if r.whisker != nil {
		above = y(r.whisker.High)
		fmt.Fprintf(b, `<line class="mark" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", x+width/2, x+width/2, y(r.whisker.Low), above)
	}
	if r.expected > 0 {
		above = math.Min(above, y(r.expected))
		fmt.Fprintf(b, `<line class="expect" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", x-1, x+width+1, y(r.expected), y(r.expected))
	}
	text(b, int(x+width/2), int(above)-5, "middle", "small", r.label)
}

func legend(b *strings.Builder) {
	const y = svgHeight - 12
	x := leftPanel
	for _, entry := range []struct{ class, words string }{
		{"endpoints", "plain balancing over all endpoints"}, {"slots", "local slots first"},
	} {
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="12" height="12"/>`+"\n", entry.class, x, y-10)
		text(b, x+18, y, "start", "small", entry.words)
		x += 40 + 6*len(entry.words)
	}
	fmt.Fprintf(b, `<line class="expect" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", x, x+14, y-4, y-4)
	text(b, x+20, y, "start", "small", "expected; thin line: 95 % interval")
}

func text(b *strings.Builder, x, y int, anchor, class, words string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s" class="%s">%s</text>`+"\n", x, y, anchor, class, html.EscapeString(words))
}
