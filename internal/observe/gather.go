package observe

import (
	"context"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// gather calls get for every node at once and collects the results by node; the
// first error ends the rest.
func gather[T any](ctx context.Context, nodes []string, get func(context.Context, string) (T, error)) (map[string]T, error) {
	var mu sync.Mutex
	results := make(map[string]T, len(nodes))
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range nodes {
		group.Go(func() error {
			value, err := get(ctx, node)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			results[node] = value
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}

func keys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
