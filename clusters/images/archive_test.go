package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes a small file tree with every kind of entry that matters.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(root, "usr/lib"), 0o755),
		os.MkdirAll(filepath.Join(root, "tmp"), 0o755),
		os.Chmod(filepath.Join(root, "tmp"), 0o777|fs.ModeSticky),
		os.WriteFile(filepath.Join(root, "usr/lib/a"), []byte("content"), 0o750),
		os.WriteFile(filepath.Join(root, "tmp/junk"), []byte("junk"), 0o600),
		os.Link(filepath.Join(root, "usr/lib/a"), filepath.Join(root, "usr/lib/b")),
		os.Symlink("usr/lib", filepath.Join(root, "lib")),
		os.Symlink("/lib/b", filepath.Join(root, "usr/absolute")),
		os.Symlink("loop", filepath.Join(root, "loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func keepButJunk(name string, _ bool) bool { return name != "tmp/junk" }

func TestArchiveTree(t *testing.T) {
	t.Parallel()
	root, dir := tree(t), t.TempDir()
	first, second := filepath.Join(dir, "1.tar"), filepath.Join(dir, "2.tar")
	for _, path := range []string{first, second} {
		if err := archiveTree(root, path, keepButJunk); err != nil {
			t.Fatal(err)
		}
	}
	a, b := readFile(t, first), readFile(t, second)
	if !bytes.Equal(a, b) {
		t.Error("the same tree gave two different archives")
	}
	headers := map[string]*tar.Header{}
	r := tar.NewReader(bytes.NewReader(a))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = h
		if !h.ModTime.Equal(fileTime()) {
			t.Errorf("%s has time %s", h.Name, h.ModTime)
		}
	}
	if headers["tmp/junk"] != nil || headers["tmp/"] == nil || headers["tmp/"].Mode != 0o1777 {
		t.Errorf("tmp: %+v", headers["tmp/"])
	}
	if h := headers["usr/lib/b"]; h == nil || h.Typeflag != tar.TypeLink || h.Linkname != "usr/lib/a" {
		t.Errorf("hard link: %+v", h)
	}
	if h := headers["lib"]; h == nil || h.Typeflag != tar.TypeSymlink || h.Linkname != "usr/lib" {
		t.Errorf("symbolic link: %+v", h)
	}
	if h := headers["usr/lib/a"]; h == nil || h.Mode != 0o750 {
		t.Errorf("file: %+v", h)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestArchiveIndexFollowsLinks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.tar")
	if err := archiveTree(tree(t), path, keepButJunk); err != nil {
		t.Fatal(err)
	}
	index, err := openArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	for _, name := range []string{"usr/lib/a", "/usr/lib/b", "lib/a", "usr/absolute", "usr/../lib/b"} {
		content, err := index.open(name)
		if err != nil {
			t.Errorf("open %s: %v", name, err)
			continue
		}
		if text, _ := io.ReadAll(content); string(text) != "content" {
			t.Errorf("%s holds %q", name, text)
		}
	}
	if _, err := index.open("lib/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if _, err := index.open("loop"); err == nil || !strings.Contains(err.Error(), "too many links") {
		t.Errorf("loop: %v", err)
	}
}

// The closure of a real program of this machine: its loader and its C library.
func TestClosureFindsLoaderAndLibraries(t *testing.T) {
	t.Parallel()
	const program = "usr/bin/env"
	libraries := libraryDirs()[0]
	if _, err := os.Stat("/" + libraries + "/libc.so.6"); err != nil {
		t.Skipf("this machine keeps its libraries elsewhere than Debian: %v", err)
	}
	root := t.TempDir()
	copyIn := func(name string) {
		content := readFile(t, "/"+name)
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	copyIn(program)
	path := filepath.Join(root, "x.tar")
	closure := func() ([]string, error) {
		if err := archiveTree(root, path, func(name string, _ bool) bool { return name != "x.tar" }); err != nil {
			t.Fatal(err)
		}
		index, err := openArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		defer index.Close()
		return index.closure(program)
	}
	if got, err := closure(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("closure without libraries = %v, %v, want an error", got, err)
	}
	copyIn(libraries + "/libc.so.6")
	loader := map[string]string{"amd64": "lib64/ld-linux-x86-64.so.2", "arm64": "lib/ld-linux-aarch64.so.1"}[goArch()]
	copyIn(loader)
	copyIn(libraries + "/" + filepath.Base(loader))
	got, err := closure()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{program, libraries + "/libc.so.6", loader} {
		if !slices.Contains(got, want) {
			t.Errorf("closure %v lacks %s", got, want)
		}
	}
}
