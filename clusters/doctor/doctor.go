// Package doctor looks at what the lab needs of the machine, repairs what it
// can when asked to, and can take its repairs back.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"secondhop/internal/failure"
)

// Status is the outcome of one check.
type Status string

// The outcomes. Limited is something that the lab can do without; the detail
// says what changes then.
const (
	OK      Status = "ok"
	Fixed   Status = "fixed"
	Limited Status = "limited"
	Missing Status = "missing"
)

// Finding is what one look at the machine saw.
type Finding struct {
	// Problem is empty when all is well.
	Problem string
	// Detail is what was found, worth knowing either way.
	Detail string
	// Cure is the command (or the act) that solves the problem.
	Cure string
	// Optional says that the lab works without it.
	Optional bool
}

// Check is one thing that the lab needs.
type Check struct {
	Name string
	// Look never changes the machine for good.
	Look func(context.Context) Finding
	// Fix tries to solve the problem that Look found; nil if there is no way.
	Fix func(context.Context) error
}

// Result is the outcome of one check.
type Result struct {
	Name   string
	Status Status
	Finding
}

// Run carries out the checks in their order and prints one line for each. With
// fix, a check that finds a problem repairs it and looks again. The error is
// nil when nothing is missing, else it counts what is and gives the first cure.
func Run(ctx context.Context, checks []Check, fix bool, out io.Writer) ([]Result, error) {
	var results []Result
	for _, check := range checks {
		result := carryOut(ctx, check, fix)
		if err := ctx.Err(); err != nil {
			return results, failure.Infra(fmt.Errorf("doctor stopped at %q: %w", check.Name, context.Cause(ctx)), "")
		}
		results = append(results, result)
		printResult(out, result)
	}
	return results, verdict(results, fix)
}

func carryOut(ctx context.Context, check Check, fix bool) Result {
	found := check.Look(ctx)
	status := statusOf(found)
	if status == OK || !fix || check.Fix == nil {
		return Result{check.Name, status, found}
	}
	if err := check.Fix(ctx); err != nil {
		found.Problem += "; the repair failed: " + err.Error()
		return Result{check.Name, status, found}
	}
	found = check.Look(ctx)
	if status = statusOf(found); status == OK {
		status = Fixed
	}
	return Result{check.Name, status, found}
}

func statusOf(f Finding) Status {
	switch {
	case f.Problem == "":
		return OK
	case f.Optional:
		return Limited
	}
	return Missing
}

func printResult(out io.Writer, r Result) {
	text := r.Detail
	if r.Problem != "" {
		text = r.Problem
		if r.Cure != "" {
			text += "; cure: " + r.Cure
		}
	}
	fmt.Fprintf(out, "%-8s %-22s %s\n", r.Status, r.Name, text)
}

func verdict(results []Result, fix bool) error {
	missing, cure := 0, ""
	for _, r := range results {
		if r.Status != Missing {
			continue
		}
		missing++
		if cure == "" {
			cure = r.Cure
		}
	}
	if missing == 0 {
		return nil
	}
	if !fix {
		cure = "secondhop doctor --fix, or by hand: " + cure
	}
	noun := "things that the lab needs are"
	if missing == 1 {
		noun = "thing that the lab needs is"
	}
	return failure.Infra(fmt.Errorf("%d %s missing on this machine", missing, noun), cure)
}

// errNotRoot is why a repair was not even tried.
var errNotRoot = errors.New("needs root")
