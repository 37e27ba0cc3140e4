package wait

import (
	"context"
	"errors"
	"fmt"
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

func TestTheMissIsNotTheEndItself(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	tries := 0
	err := Until(ctx, "the pot to boil", time.Millisecond, func(ctx context.Context) error {
		if tries++; tries == 1 {
			return errors.New("it is cold")
		}
		<-ctx.Done()
		return fmt.Errorf("look at it: %w", ctx.Err())
	})
	if err == nil || !strings.Contains(err.Error(), "it is cold") || strings.Contains(err.Error(), "look at it") {
		t.Errorf("error = %v", err)
	}
}
