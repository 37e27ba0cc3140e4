package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"secondhop/internal/command"
)

// seedRecipe counts changes of the code below that change its result.
const seedRecipe = "1"

// Names inside the result of seedStep, a directory.
const (
	seedStore = "containerd.tar" // containerd's whole store, below var/lib
	seedSpec  = "spec.json"      // containerd's default container specification
)

// seedConfig is containerd without the parts that need a running node.
const seedConfig = `version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.nri.v1.nri"]
`

// seedStep imports the inner images into a containerd store, unpacked, so that
// no node spends its first seconds on that. It runs the node's own containerd
// in the node's root file system; no engine is needed.
func seedStep(st store, rootfs, inner step) step {
	script, err := sources.ReadFile("sources/seed.sh.txt")
	s := step{name: "seed", title: "containerd store with unpacked images",
		inputs: []string{seedRecipe, seedConfig, string(script), rootfs.key(), inner.key()}}
	s.make = func(ctx context.Context, scratch, out string) error {
		if err != nil {
			return err
		}
		if err := needProgramsAndRoot("unshare", "chroot", "tar"); err != nil {
			return err
		}
		root := filepath.Join(scratch, "root")
		seed := filepath.Join(root, "seed")
		if err := os.MkdirAll(seed, 0o755); err != nil {
			return err
		}
		if _, err := command.Run(ctx, "tar", "--extract", "--numeric-owner", "--directory", root, "--file", st.path(rootfs)); err != nil {
			return err
		}
		err := errors.Join(
			os.WriteFile(filepath.Join(seed, "config.toml"), []byte(seedConfig), 0o644),
			os.WriteFile(filepath.Join(seed, "seed.sh"), script, 0o755),
			linkOrCopy(st.path(inner), filepath.Join(seed, "images.tar")),
		)
		if err != nil {
			return err
		}
		if err := runSeed(ctx, root); err != nil {
			return err
		}
		return collectSeed(root, out)
	}
	return s
}

// linkOrCopy avoids a copy where it can; both are in the cache.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// runSeed runs the script below root. Mounts and processes live in namespaces
// of their own, which end with the command however it ends.
func runSeed(ctx context.Context, root string) error {
	const enter = `set -eu
mkdir -p "$1/proc" "$1/dev" "$1/run" "$1/tmp" "$1/var/log"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
exec chroot "$1" /bin/sh /seed/seed.sh`
	_, err := command.Run(ctx, "unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
		"/bin/sh", "-c", enter, "enter", root)
	if err != nil {
		return fmt.Errorf("import into containerd: %w", err)
	}
	return nil
}

// collectSeed keeps the store and the specification, having seen that every
// image is complete and unpacked.
func collectSeed(root, out string) error {
	checked, err := os.ReadFile(filepath.Join(root, "seed/images"))
	if err != nil {
		return err
	}
	if bad := incompleteImages(string(checked)); len(bad) > 0 {
		return fmt.Errorf("import into containerd: not complete and unpacked: %s", strings.Join(bad, "; "))
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	spec, err := os.ReadFile(filepath.Join(root, "seed", seedSpec))
	if err != nil {
		return err
	}
	if spec, err = baseSpec(spec); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, seedSpec), spec, 0o644); err != nil {
		return err
	}
	return archiveTree(root, filepath.Join(out, seedStore), func(name string, _ bool) bool {
		return name == "var" || name == "var/lib" || name == "var/lib/containerd" || strings.HasPrefix(name, "var/lib/containerd/")
	})
}

// incompleteImages reads what `ctr images check` prints, a heading and a line
// for each image, and returns the lines of images that are not all there.
func incompleteImages(listing string) []string {
	lines := strings.Split(strings.TrimSpace(listing), "\n")
	if len(lines) < 2 {
		return []string{"no images at all"}
	}
	return slices.DeleteFunc(lines[1:], func(line string) bool {
		words := strings.Fields(line)
		return slices.Contains(words, "complete") && slices.Contains(words, "true")
	})
}

// baseSpec turns containerd's default specification into the one that kind's
// nodes use: with the hook that hides the host's product name from containers,
// and without resource limits, which an engine of limited root cannot raise.
func baseSpec(text []byte) ([]byte, error) {
	var spec map[string]any
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, fmt.Errorf("read containerd's specification: %w", err)
	}
	process, ok := spec["process"].(map[string]any)
	if !ok {
		return nil, errors.New("read containerd's specification: no process in it")
	}
	delete(process, "rlimits")
	spec["hooks"] = map[string]any{"createContainer": []any{map[string]any{"path": "/kind/bin/mount-product-files.sh"}}}
	return json.MarshalIndent(spec, "", "  ")
}
