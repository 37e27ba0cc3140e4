// Package wait is the one loop with which everything here waits: it names what
// is awaited, tries at once, and on giving up says what was still wrong.
package wait

import (
	"context"
	"fmt"
	"time"
)

// Until calls try, at once and then every period, until it returns nil or ctx
// ends. The error then names subject, the time spent and the last miss; it wraps
// both the miss and ctx's error.
func Until(ctx context.Context, subject string, period time.Duration, try func(context.Context) error) error {
	_, err := For(ctx, subject, period, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, try(ctx)
	})
	return err
}

// For is Until for a try that yields a value.
func For[T any](ctx context.Context, subject string, period time.Duration, try func(context.Context) (T, error)) (T, error) {
	var none T
	start := time.Now()
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	var miss error
	for {
		value, err := try(ctx)
		if err == nil {
			return value, nil
		}
		// A try that the end of ctx cut short says less than the one before.
		if miss == nil || !ended(ctx) {
			miss = err
		}
		select {
		case <-ctx.Done():
			spent := time.Since(start).Round(100 * time.Millisecond)
			return none, fmt.Errorf("waited %s for %s: %w (%w)", spent, subject, miss, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// ended says that ctx is over, or will be as soon as its timer is looked at.
func ended(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}
