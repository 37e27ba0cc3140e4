package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"secondhop/clusters/engine"
	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// Item is an image in the engine or the result of a step in the cache.
type Item struct {
	Where string // "engine" or "cache"
	Name  string
	Size  string // as people read it
}

// The values of Item.Where.
const (
	inEngine = "engine"
	inCache  = "cache"
)

// List gives what Ensure, Build and Own have put into the engine and the cache.
// Without an engine it lists the cache alone.
func List(ctx context.Context) ([]Item, error) {
	st, err := openStore()
	if err != nil {
		return nil, err
	}
	items, err := engineItems(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	entries, err := st.list()
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		items = append(items, Item{inCache, entry.Name(), treeSize(filepath.Join(st.dir, entry.Name())).String()})
	}
	return items, nil
}

func engineItems(ctx context.Context) ([]Item, error) {
	text, err := engine.Run(ctx, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}\t{{.Size}}")
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return parseEngineItems(text), nil
}

// parseEngineItems picks the lab's images from the engine's list.
func parseEngineItems(text string) []Item {
	var items []Item
	for line := range strings.Lines(text) {
		name, size, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(name, "secondhop/") || strings.HasPrefix(name, "kindest/node:") {
			items = append(items, Item{inEngine, name, size})
		}
	}
	return items
}

func treeSize(root string) units.Bytes {
	var total units.Bytes
	_ = filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // a file that vanished meanwhile has no size
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += units.Bytes(info.Size())
		}
		return nil
	})
	return total
}

// Remove deletes items by their names, or all of them, and prints each one. A
// name that List does not give is refused before anything is deleted.
func Remove(ctx context.Context, out io.Writer, all bool, names []string) error {
	if all == (len(names) > 0) {
		return failure.Input(errors.New("say what to remove: names or --all, not both"), "secondhop image ls lists the names")
	}
	items, err := List(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(items, func(i Item) bool { return i.Name == name }) {
			return failure.Input(fmt.Errorf("there is no image or cached step %q", name), "secondhop image ls lists the names")
		}
	}
	st, err := openStore()
	if err != nil {
		return err
	}
	unlock, err := st.lock(ctx, func() { fmt.Fprintln(out, "waiting for an image build on this machine to finish") })
	if err != nil {
		return err
	}
	defer unlock()
	for _, item := range items {
		if !all && !slices.Contains(names, item.Name) {
			continue
		}
		if item.Where == inEngine {
			_, err = engine.Run(ctx, "image", "rm", item.Name)
		} else {
			err = os.RemoveAll(filepath.Join(st.dir, item.Name))
		}
		if err != nil {
			return failure.Infra(fmt.Errorf("remove %s: %w", item.Name, err), "if a lab runs on it: secondhop down")
		}
		fmt.Fprintln(out, "removed", item.Name)
	}
	return nil
}
