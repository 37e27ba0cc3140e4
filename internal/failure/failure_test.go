package failure

import (
	"errors"
	"fmt"
	"testing"
)

func TestExitCodeAndCure(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk full")
	inner := Infra(cause, "free 2 GiB")
	for _, tc := range []struct {
		name string
		err  error
		code int
		cure string
	}{
		{"none", nil, 0, ""},
		{"unmarked", cause, 2, ""},
		{"infrastructure, wrapped", fmt.Errorf("build image: %w", inner), 2, "free 2 GiB"},
		{"usage around infrastructure", Input(fmt.Errorf("--cache: %w", inner), ""), 3, "free 2 GiB"},
		{"product", Expectation(cause), 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := ExitCode(tc.err); got != tc.code {
				t.Errorf("ExitCode = %d, want %d", got, tc.code)
			}
			if got := Cure(tc.err); got != tc.cure {
				t.Errorf("Cure = %q, want %q", got, tc.cure)
			}
		})
	}
	if !errors.Is(inner, cause) {
		t.Error("the cause is lost")
	}
	if Infra(nil, "x") != nil {
		t.Error("a nil error became one")
	}
}
