package wait

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestForTriesAtOnceAndReturnsTheValue(t *testing.T) {
	t.Parallel()
	got, err := For(t.Context(), "a value", time.Hour, func(context.Context) (int, error) { return 7, nil })
	if got != 7 || err != nil {
		t.Fatalf("For = %d, %v", got, err)
	}
}

func TestUntilNamesSubjectAndLastMiss(t *testing.T) {
	t.Parallel()
	miss := errors.New("1 of 4 nodes ready")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	tries := 0
	err := Until(ctx, "nodes", time.Millisecond, func(context.Context) error { tries++; return miss })
	if !errors.Is(err, miss) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "for nodes") {
		t.Errorf("error = %v", err)
	}
	if tries < 2 {
		t.Errorf("tried %d times, want several", tries)
	}
}
