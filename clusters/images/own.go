package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"secondhop/internal/failure"
)

// OwnRefs are the names of the images of our own programs. The tag of each is a
// hash of its content, so that a changed program is never mistaken for the old.
type OwnRefs struct {
	Usher   string `json:"usher"`
	Edge    string `json:"edge"`
	Demoapp string `json:"demoapp"`
	Loadgen string `json:"loadgen"`
}

// SourceVariable is the environment variable that says where our source is when
// the program runs outside of it.
const SourceVariable = "SECONDHOP_SOURCE"

// Names of files in an archive of own images in the store.
const (
	ownPrefix   = "own-"
	ownArchives = 3 // how many are kept
)

// Own builds our deployed programs, static, and the images around them. The
// archive is a docker-archive of all four for the nodes; the load generator,
// which runs beside them, is put into the local engine as well. Nothing is done
// twice for equal programs.
func Own(ctx context.Context, opts Options) (archive string, refs OwnRefs, err error) {
	st, err := openStore()
	if err != nil {
		return "", refs, err
	}
	source, err := sourceDir(ctx)
	if err != nil {
		return "", refs, err
	}
	out := opts.progress()
	unlock, err := st.lock(ctx, func() { fmt.Fprintln(out, "waiting for an image build on this machine to finish") })
	if err != nil {
		return "", refs, err
	}
	defer unlock()
	base, err := edgeBase(ctx, st, opts)
	if err != nil {
		return "", refs, err
	}
	if err := os.MkdirAll(st.workDir(), 0o755); err != nil {
		return "", refs, explainDisk(st.dir, fmt.Errorf("build our programs: %w", err))
	}
	dir, err := os.MkdirTemp(st.workDir(), "programs-")
	if err != nil {
		return "", refs, explainDisk(st.dir, fmt.Errorf("build our programs: %w", err))
	}
	defer os.RemoveAll(dir)
	if err := buildOwn(ctx, source, dir); err != nil {
		return "", refs, explainDisk(st.dir, fmt.Errorf("build our programs: %w", err))
	}
	specs, refs, err := ownImages(dir, base)
	if err != nil {
		return "", refs, explainDisk(st.dir, fmt.Errorf("make our images: %w", err))
	}
	s := step{name: strings.TrimSuffix(ownPrefix, "-"), title: "images of our programs",
		inputs: []string{refs.Usher, refs.Edge, refs.Demoapp, refs.Loadgen},
		make:   func(_ context.Context, _, out string) error { return writeArchive(out, specs) }}
	if err := st.run(ctx, s); err != nil {
		return "", refs, err
	}
	if err := pruneOwn(st, st.path(s)); err != nil {
		return "", refs, err
	}
	return st.path(s), refs, ensureLoaded(ctx, st, specs, refs.Loadgen)
}

// ownPrograms are the directories below cmd of what runs in the lab.
func ownPrograms() []string { return []string{"usher", "edge", "demoapp", "loadgen"} }

// sourceDir is the root of our source tree.
func sourceDir(ctx context.Context) (string, error) {
	start := os.Getenv(SourceVariable)
	if start == "" {
		start = "."
	}
	start, err := filepath.Abs(start)
	if err == nil {
		var text string
		text, err = goCommand(ctx, start, "list", "-m", "-f", "{{.Path}} {{.Dir}}")
		if dir, ours := strings.CutPrefix(strings.TrimSpace(text), "secondhop "); err == nil && ours {
			return dir, nil
		}
	}
	return "", failure.Input(errors.Join(fmt.Errorf("%s is not inside secondhop's source, from which the images of its programs are built", start), err),
		"run it in the repository, or set "+SourceVariable+" to it")
}

// buildOwn builds all programs with one call, which shares the work.
func buildOwn(ctx context.Context, source, dir string) error {
	args := []string{"build", "-mod=readonly", "-trimpath", "-ldflags", linkerFlags(nil), "-o", dir + "/"}
	for _, name := range ownPrograms() {
		args = append(args, "./cmd/"+name)
	}
	_, err := goCommand(ctx, source, args...)
	return err
}

// ownImages describes the images of the programs in dir, whose layers it writes
// there. The edge's image has HAProxy below its program.
func ownImages(dir string, edgeBase []string) ([]imageSpec, OwnRefs, error) {
	refs := OwnRefs{}
	fields := map[string]*string{"usher": &refs.Usher, "edge": &refs.Edge, "demoapp": &refs.Demoapp, "loadgen": &refs.Loadgen}
	var specs []imageSpec
	for _, name := range ownPrograms() {
		layer := filepath.Join(dir, name+".tar")
		if err := ownLayer(layer, filepath.Join(dir, name), name); err != nil {
			return nil, refs, err
		}
		layers := []string{layer}
		if name == "edge" {
			layers = append(slices.Clone(edgeBase), layer)
		}
		hash, err := layersHash(layers)
		if err != nil {
			return nil, refs, err
		}
		ref := "secondhop/" + name + ":" + hash[:shortHash]
		*fields[name] = ref
		config := v1.Config{Env: []string{searchPath}, Entrypoint: []string{"/" + name}}
		specs = append(specs, imageSpec{ref, config, layers})
	}
	return specs, refs, nil
}

func ownLayer(path, program, name string) error {
	l, err := newLayer(path)
	if err != nil {
		return err
	}
	l.directory("tmp", 0o777|fs.ModeSticky)
	l.directory("run", 0o755)
	l.copyFile(name, program, 0o755)
	return l.Close()
}

func layersHash(paths []string) (string, error) {
	var hashes []string
	for _, path := range paths {
		layer, err := newFileLayer(path)
		if err != nil {
			return "", err
		}
		hashes = append(hashes, layer.hash.String())
	}
	return hashOf(hashes...), nil
}

// ensureLoaded puts one of the images into the local engine unless it is there.
func ensureLoaded(ctx context.Context, st store, specs []imageSpec, ref string) error {
	id, err := imageID(ctx, ref)
	if err != nil || id != "" {
		return err
	}
	i := slices.IndexFunc(specs, func(s imageSpec) bool { return s.ref == ref })
	return loadImages(ctx, st.dir, specs[i])
}

// pruneOwn removes all but the latest few archives: each edit of our source
// makes one.
func pruneOwn(st store, current string) error {
	entries, err := st.list()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !strings.HasPrefix(e.Name(), ownPrefix) || filepath.Join(st.dir, e.Name()) == current
	})
	age := func(e fs.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return int(min(max(age(b)-age(a), -1), 1)) })
	for i, e := range entries {
		if i < ownArchives-1 {
			continue
		}
		if err := os.RemoveAll(filepath.Join(st.dir, e.Name())); err != nil {
			return fmt.Errorf("remove an old archive: %w", err)
		}
	}
	return nil
}
