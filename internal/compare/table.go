package compare

import (
	"fmt"
	"io"
	"strings"

	"secondhop/internal/measure"
)

// WriteTable writes the cells, placement by placement, each measured value beside
// what it must be, in lines of at most 100 columns.
func WriteTable(w io.Writer, cells []Cell) error {
	placement := ""
	for _, c := range cells {
		if c.Placement != placement {
			placement = c.Placement
			fmt.Fprintf(w, "%splacement %s: pods %s\n", map[bool]string{true: "\n"}[c.Strategy != cells[0].Strategy], placement, list(c.Pods))
			fmt.Fprintf(w, "%-23s %15s %15s %15s %11s %11s\n", "strategy",
				"local (want)", "zone (want)", "drops (want)", "pod min", "pod max")
		}
		_, err := fmt.Fprintf(w, "%-23s %15s %15s %15s %11s %11s %4s\n", c.Strategy,
			pair(c.Local), pair(c.Zone), pair(c.Drop),
			fmt.Sprintf("%.2f (%.2f)", c.Least, c.ExpectedLeast), fmt.Sprintf("%.2f (%.2f)", c.Most, c.ExpectedMost), marker(c.Verdict()))
		if err != nil {
			return fmt.Errorf("write the comparison: %w", err)
		}
	}
	return nil
}

func pair(f Figure) string {
	return fmt.Sprintf("%5.1f%% (%5.1f%%)", 100*f.Observed, 100*f.Expected)
}

func list(pods []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(pods), "[]"), " ", ",")
}

func marker(v measure.Verdict) string {
	switch v {
	case measure.Pass:
		return "ok"
	case measure.Fail:
		return "FAIL"
	}
	return "?"
}
