package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"secondhop/internal/measure"
)

// Columns is the widest line that tables have.
const Columns = 100

// column is a heading and its width; numbers are set to the right.
type column struct {
	title string
	width int
	right bool
}

// columns are 100 wide together with a space between them.
func columns() []column {
	return []column{
		{"strategy", 14, false}, {"placement", 9, false}, {"slot", 6, true}, {"local share", 12, true},
		{"expect", 6, true}, {"drops of N", 12, true}, {"pod max", 7, true}, {"p50/p99 ms", 10, true},
		{"in B/req", 8, true}, {"cut", 7, true},
	}
}

// WriteTable writes the rows under their headings. A local share is given with
// half the width of its 95 % interval; bytes are inbound per node and request of
// the whole load, mean of the nodes.
func WriteTable(w io.Writer, rows []Row) error {
	var b strings.Builder
	heading := ""
	for i, row := range rows {
		if i == 0 || row.Group != heading {
			if i > 0 {
				b.WriteByte('\n')
			}
			heading = row.Group
			fmt.Fprintln(&b, heading)
			line(&b, titles())
		}
		line(&b, cells(row))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

func titles() []string {
	var out []string
	for _, c := range columns() {
		out = append(out, c.title)
	}
	return out
}

func line(b *strings.Builder, values []string) {
	var text strings.Builder
	for i, c := range columns() {
		value := fit(values[i], c.width)
		padding := strings.Repeat(" ", c.width-len([]rune(value)))
		if i > 0 {
			text.WriteByte(' ')
		}
		if c.right {
			text.WriteString(padding + value)
		} else {
			text.WriteString(value + padding)
		}
	}
	b.WriteString(strings.TrimRight(text.String(), " "))
	b.WriteByte('\n')
}

// fit shortens a text that is too wide for its column, visibly.
func fit(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

func cells(r Row) []string {
	return []string{
		r.Strategy, placementText(r.Placement), slotText(r.Slot), localText(r.Local), expectedText(r.Local),
		dropsText(r), balanceText(r.Balance), latencyText(r.Response), bytesText(r.Bytes), cutText(r.Cut),
	}
}

func placementText(pods []int) string {
	var parts []string
	for _, k := range pods {
		parts = append(parts, strconv.Itoa(k))
	}
	return strings.Join(parts, ",")
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }

func slotText(e *Estimate) string {
	if e == nil {
		return "-"
	}
	return percent(e.Observed)
}

func localText(e *Estimate) string {
	if e == nil {
		return "-"
	}
	return fmt.Sprintf("%s ±%.1f", percent(e.Observed), 50*(e.Interval.High-e.Interval.Low))
}

func expectedText(e *Estimate) string {
	if e == nil {
		return "-"
	}
	return percent(e.Expected)
}

func dropsText(r Row) string {
	if r.Requests == 0 {
		return "-"
	}
	return fmt.Sprintf("%s of %s", measure.Count(r.Failed), short(r.Requests))
}

// short writes a count with few characters: 40,000 becomes 40.0k from 100,000 on.
func short(n int64) string {
	if n < 100_000 {
		return measure.Count(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

func balanceText(b *measure.Balance) string {
	if b == nil || b.Pods == 0 {
		return "-"
	}
	return fmt.Sprintf("x%.3f", b.Max)
}

func latencyText(q *measure.Quantiles) string {
	if q == nil || q.N == 0 {
		return "-"
	}
	ms := func(seconds float64) string {
		if seconds < 0.00995 {
			return strconv.FormatFloat(1000*seconds, 'f', 1, 64)
		}
		return strconv.FormatFloat(1000*seconds, 'f', 0, 64)
	}
	return ms(q.P50.Seconds()) + "/" + ms(q.P99.Seconds())
}

func bytesText(b *Bytes) string {
	if b == nil {
		return "-"
	}
	return measure.Count(int64(math.Round(b.In)))
}

func cutText(c *Cut) string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("%+.1f%%", -100*c.Observed)
}
