package cleanup

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestRunIsLastInFirstOutAndGoesOnPastFailures(t *testing.T) {
	t.Parallel()
	var stack Stack
	var order []string
	add := func(name string, result func() error) {
		stack.Push(name, func(ctx context.Context) error {
			order = append(order, name)
			if ctx.Err() != nil {
				t.Errorf("step %s got a dead context", name)
			}
			return result()
		})
	}
	refused := errors.New("refused")
	add("network", func() error { return nil })
	add("node", func() error { return refused })
	add("veth", func() error { panic("no such device") })

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := stack.Run(ctx, time.Second)
	if want := []string{"veth", "node", "network"}; !slices.Equal(order, want) {
		t.Errorf("order = %v, want %v", order, want)
	}
	if !errors.Is(err, refused) {
		t.Errorf("error = %v, want it to hold %v", err, refused)
	}
	if err := stack.Run(ctx, time.Second); err != nil || len(order) != 3 {
		t.Errorf("a second Run did something: %v, %v", order, err)
	}
}

func TestReleaseKeepsWhatWasSetUp(t *testing.T) {
	t.Parallel()
	var stack Stack
	stack.Push("cluster", func(context.Context) error { t.Error("undone"); return nil })
	stack.Release()
	if err := stack.Run(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}
