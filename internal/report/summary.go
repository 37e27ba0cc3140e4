package report

import (
	"fmt"
	"io"
	"strings"

	"secondhop/internal/measure"
)

// WriteSummary writes what a person wants to see at the end of a run: the
// machine in a line, the table, whatever did not pass with its marker, and the
// verdict as the last line.
func (r Result) WriteSummary(w io.Writer) error {
	if line := r.Environment.line(); line != "" {
		if _, err := fmt.Fprintf(w, "%s\n\n", line); err != nil {
			return fmt.Errorf("write summary: %w", err)
		}
	}
	if len(r.Rows) > 0 {
		if err := WriteTable(w, r.Rows); err != nil {
			return err
		}
	}
	if err := r.writeTrouble(w); err != nil {
		return err
	}
	if err := r.writeBudget(w); err != nil {
		return err
	}
	took := ""
	if elapsed := r.elapsed(); elapsed > 0 {
		took = fmt.Sprintf(" after %s", elapsed)
	}
	if _, err := fmt.Fprintf(w, "\n%s%s\n", r.Verdict, took); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// writeTrouble lists problems with their cures and the expectations of every
// test in which one did not pass; the passed ones of such a test give context.
func (r Result) writeTrouble(w io.Writer) error {
	for _, p := range r.Problems {
		text := fmt.Sprintf("\n%s: %s\n", p.Stage, p.Error)
		if p.Cure != "" {
			text += fmt.Sprintf("  to cure it: %s\n", p.Cure)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return fmt.Errorf("write summary: %w", err)
		}
	}
	for _, g := range r.Groups {
		if !g.troubled() {
			continue
		}
		if err := measure.PrintExpectations(w, "\nExpected of "+g.Name+":", g.Assertions); err != nil {
			return err
		}
	}
	return nil
}

// writeBudget says how sure a red or green run is.
func (r Result) writeBudget(w io.Writer) error {
	if r.Tests == 0 || r.Family.Tests == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%d statistical tests of a budget of %d, each at a level of %.1g: chance turns a correct system red in at\n"+
		"most 1 of %s runs.\n", r.Tests, r.Family.Tests, r.Family.Level(), measure.Count(int64(1/r.Family.Alpha+0.5)))
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

func (g Group) troubled() bool {
	for _, a := range g.Assertions {
		if a.Verdict != measure.Pass {
			return true
		}
	}
	return false
}

// WriteExpectations writes all expectations of all tests.
func (r Result) WriteExpectations(w io.Writer) error {
	for i, g := range r.Groups {
		title := g.Name
		if i > 0 {
			title = "\n" + title
		}
		if err := measure.PrintExpectations(w, title, g.Assertions); err != nil {
			return err
		}
	}
	return nil
}

// line is the environment in one line; it is empty if nothing is known.
func (e Environment) line() string {
	var parts []string
	add := func(known bool, format string, args ...any) {
		if known {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(e.Kubernetes != "", "Kubernetes %s", e.Kubernetes)
	add(e.Workers > 0, "%d workers", e.Workers)
	add(e.Zones > 0, "%d zones", e.Zones)
	add(e.Link > 0, "links %s", e.Link)
	add(e.ProxyMode != "", "kube-proxy %s", e.ProxyMode)
	add(e.CPUs > 0, "%d CPUs", e.CPUs)
	add(e.Kernel != "", "kernel %s", e.Kernel)
	text := strings.Join(parts, ", ")
	return fit(text, Columns)
}
