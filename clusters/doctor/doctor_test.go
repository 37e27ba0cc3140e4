package doctor

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"secondhop/internal/failure"
)

// patient is a check of something that is missing until it is fixed.
func patient(name string, optional bool, fix func(*bool) error) Check {
	there := false
	check := Check{Name: name, Look: func(context.Context) Finding {
		if there {
			return Finding{Detail: "there"}
		}
		return Finding{Problem: "not there", Cure: "get " + name, Optional: optional}
	}}
	if fix != nil {
		check.Fix = func(context.Context) error { return fix(&there) }
	}
	return check
}

func TestRunReportsRepairsAndLooksAgain(t *testing.T) {
	t.Parallel()
	works := func(there *bool) error { *there = true; return nil }
	lies := func(*bool) error { return nil }
	fails := func(*bool) error { return errors.New("no network") }
	checks := func() []Check {
		return []Check{
			{Name: "fine", Look: func(context.Context) Finding { return Finding{Detail: "version 2"} }},
			patient("works", false, works),
			patient("lies", false, lies),
			patient("fails", true, fails),
			patient("by hand", false, nil),
		}
	}
	for _, tc := range []struct {
		fix        bool
		want, cure string
	}{
		{false, `ok       fine                   version 2
missing  works                  not there; cure: get works
missing  lies                   not there; cure: get lies
limited  fails                  not there; cure: get fails
missing  by hand                not there; cure: get by hand
`, "secondhop doctor --fix, or by hand: get works"},
		{true, `ok       fine                   version 2
fixed    works                  there
missing  lies                   not there; cure: get lies
limited  fails                  not there; the repair failed: no network; cure: get fails
missing  by hand                not there; cure: get by hand
`, "get lies"},
	} {
		var out bytes.Buffer
		_, err := Run(t.Context(), checks(), tc.fix, &out)
		if diff := cmp.Diff(tc.want, out.String()); diff != "" {
			t.Errorf("fix %v (-want +got):\n%s", tc.fix, diff)
		}
		if failure.ExitCode(err) != 2 || failure.Cure(err) != tc.cure {
			t.Errorf("fix %v: error %v, cure %q, want cure %q", tc.fix, err, failure.Cure(err), tc.cure)
		}
	}
}

func TestRunIsContentWithLimitedThings(t *testing.T) {
	t.Parallel()
	results, err := Run(t.Context(), []Check{patient("wrk", true, nil)}, true, &bytes.Buffer{})
	if err != nil || len(results) != 1 || results[0].Status != Limited {
		t.Errorf("Run = %+v, %v", results, err)
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	first := Check{Name: "first", Look: func(context.Context) Finding { cancel(); return Finding{} }}
	second := Check{Name: "second", Look: func(context.Context) Finding { t.Error("went on"); return Finding{} }}
	var out bytes.Buffer
	if _, err := Run(ctx, []Check{first, second}, false, &out); !errors.Is(err, context.Canceled) || out.Len() != 0 {
		t.Errorf("error = %v, output %q", err, out.String())
	}
}
