package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// contents lists a tar's entries as name and what each is.
func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	found := map[string]string{}
	r := tar.NewReader(bytes.NewReader(readFile(t, path)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := found[h.Name]; twice {
			t.Errorf("%s is in the archive twice", h.Name)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			found[h.Name] = "dir"
		case tar.TypeSymlink:
			found[h.Name] = "-> " + h.Linkname
		default:
			text, _ := io.ReadAll(r)
			found[h.Name] = string(text)
		}
	}
}

func TestLayerHasParentsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte("elf"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := newLayer(filepath.Join(dir, "layer.tar"))
	if err != nil {
		t.Fatal(err)
	}
	l.directory("tmp", 0o777|fs.ModeSticky)
	l.copyFile("usr/bin/program", source, 0o755)
	l.link("usr/bin/other", "program")
	l.directory("usr", 0o700)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"tmp/": "dir", "usr/": "dir", "usr/bin/": "dir", "usr/bin/program": "elf", "usr/bin/other": "-> program"}
	if diff := cmp.Diff(want, contents(t, filepath.Join(dir, "layer.tar"))); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
}

func TestLayerKeepsItsFirstError(t *testing.T) {
	t.Parallel()
	l, err := newLayer(filepath.Join(t.TempDir(), "layer.tar"))
	if err != nil {
		t.Fatal(err)
	}
	l.copyFile("a", filepath.Join(t.TempDir(), "absent"), 0o755)
	l.text("b", "fine", 0o644)
	if err := l.Close(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Close = %v, want the missing file", err)
	}
}

// programsDir has a file for each of our programs.
func programsDir(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, program := range ownPrograms() {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(program+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func edgeBaseFor(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base.tar")
	l, err := newLayer(path)
	if err != nil {
		t.Fatal(err)
	}
	l.text(haproxyProgram, text, 0o755)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

func TestOwnArchiveHoldsRunnableImages(t *testing.T) {
	t.Parallel()
	specs, refs, err := ownImages(programsDir(t, "1"), edgeBaseFor(t, "haproxy"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "own.tar")
	if err := writeArchive(path, specs); err != nil {
		t.Fatal(err)
	}
	for ref, program := range map[string]string{refs.Usher: "usher", refs.Edge: "edge", refs.Demoapp: "demoapp", refs.Loadgen: "loadgen"} {
		if !strings.HasPrefix(ref, "secondhop/"+program+":") {
			t.Errorf("image of %s is called %q", program, ref)
		}
		tag, err := name.NewTag(ref)
		if err != nil {
			t.Fatal(err)
		}
		image, err := tarball.ImageFromPath(path, &tag)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"/" + program}, config.Config.Entrypoint); diff != "" || config.OS != "linux" {
			t.Errorf("%s: entry point (-want +got):\n%s", ref, diff)
		}
		layers, err := image.Layers()
		if want := map[bool]int{true: 2, false: 1}[program == "edge"]; err != nil || len(layers) != want {
			t.Errorf("%s has %d layers, want %d (%v)", ref, len(layers), want, err)
		}
		checkLayers(t, ref, layers)
	}
}

// checkLayers makes sure that what an engine will check holds: each layer's
// content has the hash that it is announced with.
func checkLayers(t *testing.T, ref string, layers []v1.Layer) {
	t.Helper()
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := v1.SHA256(content)
		want, wantErr := layer.DiffID()
		if got != want || errors.Join(err, wantErr, content.Close()) != nil {
			t.Errorf("%s: a layer hashes to %s, not %s", ref, got, want)
		}
	}
}

func TestOwnTagsFollowTheContent(t *testing.T) {
	t.Parallel()
	tags := func(programs, base string) OwnRefs {
		_, refs, err := ownImages(programsDir(t, programs), edgeBaseFor(t, base))
		if err != nil {
			t.Fatal(err)
		}
		return refs
	}
	first, again, other, newBase := tags("1", "haproxy"), tags("1", "haproxy"), tags("2", "haproxy"), tags("1", "haproxy 2")
	if first != again {
		t.Errorf("equal programs gave %+v and %+v", first, again)
	}
	if first.Usher == other.Usher || first.Loadgen == other.Loadgen {
		t.Errorf("changed programs kept their tags: %+v", other)
	}
	if first.Edge == newBase.Edge || first.Usher != newBase.Usher {
		t.Errorf("a changed HAProxy: %+v, before %+v", newBase, first)
	}
}

func TestPruneOwnKeepsTheLatest(t *testing.T) {
	t.Parallel()
	st := store{t.TempDir()}
	for i, base := range []string{"own-1", "own-2", "own-3", "own-4", "node-1"} {
		path := filepath.Join(st.dir, base)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		age := fileTime().AddDate(0, 0, i)
		if err := os.Chtimes(path, age, age); err != nil {
			t.Fatal(err)
		}
	}
	if err := pruneOwn(st, filepath.Join(st.dir, "own-1")); err != nil {
		t.Fatal(err)
	}
	entries, _ := st.list()
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff([]string{"node-1", "own-1", "own-3", "own-4"}, got); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
