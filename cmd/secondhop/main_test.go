package main

import "testing"

func TestRefusedCommandLinesAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"upp"}, {"up", "--no-such-flag"}, {"up", "--link", "1gb"}, {"up", "--link=-5mbit"}, {"up", "--link", "0"}, {"up", "surplus"}} {
		if got := run(t.Context(), args); got != 3 {
			t.Errorf("secondhop %v ends with %d, want 3", args, got)
		}
	}
	if got := run(t.Context(), []string{"--help"}); got != 0 {
		t.Errorf("--help ends with %d", got)
	}
}
