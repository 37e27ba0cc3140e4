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
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"secondhop/clusters/engine"
)

// edgeBaseRecipe counts changes of the code below that change its result.
const edgeBaseRecipe = "1"

// haproxyImage is HAProxy's official image of the same release as Debian's.
const haproxyImage = "haproxy:3.0"

// Where HAProxy is in Debian and in the edge's image, and in the official image.
const (
	haproxyProgram  = "usr/sbin/haproxy"
	haproxyOfficial = "/usr/local/sbin/haproxy"
)

// edgeBase gives the layers with HAProxy and what it needs: out of the root file
// system of a node if that is there, else out of the official image if it can be
// pulled (one short try), else out of a root file system made for it.
func edgeBase(ctx context.Context, st store, opts Options) ([]string, error) {
	rootfs := rootfsStep()
	s := step{name: "haproxy", title: "HAProxy layer", inputs: []string{edgeBaseRecipe, rootfs.key()}}
	s.make = func(_ context.Context, _, out string) error { return haproxyLayer(st.path(rootfs), out) }
	if !st.has(s) && !st.has(rootfs) {
		layers, err := pulledBase(ctx, st, haproxyImage, opts)
		if err == nil || ctx.Err() != nil {
			return layers, err
		}
		fmt.Fprintf(opts.progress(), "HAProxy: %v; taking Debian's instead\n", err)
	}
	var todo []step
	var titles []string
	for _, s := range []step{rootfs, s} {
		if !st.has(s) {
			todo, titles = append(todo, s), append(titles, s.title)
		}
	}
	if st.has(s) {
		return []string{st.path(s)}, nil
	}
	report := newProgress(opts.progress(), time.Now, titles)
	for _, s := range todo {
		if err := track(ctx, report, s.title, func(ctx context.Context) error { return st.run(ctx, s) }); err != nil {
			return nil, err
		}
	}
	return []string{st.path(s)}, nil
}

func haproxyLayer(rootfs, out string) error {
	archive, err := openArchive(rootfs)
	if err != nil {
		return err
	}
	defer archive.Close()
	files, err := archive.closure(haproxyProgram)
	if err != nil {
		return err
	}
	l, err := newLayer(out)
	if err != nil {
		return err
	}
	l.copyFrom(archive, files...)
	l.directory("tmp", 0o777|fs.ModeSticky)
	l.directory("run", 0o755)
	l.directory("var/lib/haproxy", 0o755)
	return l.Close()
}

// pulledBase gives the layers of an image with HAProxy, pulling it unless the
// engine has it, and one more that puts HAProxy where Debian has it.
func pulledBase(ctx context.Context, st store, ref string, opts Options) ([]string, error) {
	id, err := imageID(ctx, ref)
	if err == nil && id == "" {
		if err = pull(ctx, ref, opts); err == nil {
			id, err = imageID(ctx, ref)
		}
	}
	if err != nil {
		return nil, err
	}
	s := step{name: "haproxy-official", title: "layers of " + ref, inputs: []string{edgeBaseRecipe, id}}
	s.make = func(ctx context.Context, scratch, out string) error {
		saved := filepath.Join(scratch, "image.tar")
		if _, err := engine.Run(ctx, "image", "save", "--output", saved, ref); err != nil {
			return err
		}
		return unpackLayers(saved, out)
	}
	if err := st.run(ctx, s); err != nil {
		return nil, err
	}
	layers, err := filepath.Glob(filepath.Join(st.path(s), "*.tar"))
	slices.Sort(layers)
	return layers, err
}

// unpackLayers writes the layers of a saved image as files whose names sort in
// the layers' order, and the layer of our own as the last.
func unpackLayers(saved, out string) error {
	image, err := tarball.ImageFromPath(saved, nil)
	if err != nil {
		return fmt.Errorf("read a saved image: %w", err)
	}
	layers, err := image.Layers()
	if err == nil {
		err = os.Mkdir(out, 0o755)
	}
	if err != nil {
		return fmt.Errorf("read a saved image: %w", err)
	}
	for i, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			return fmt.Errorf("read layer %d: %w", i, err)
		}
		err = copyToFile(filepath.Join(out, fmt.Sprintf("%03d.tar", i)), content)
		if err := errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("read layer %d: %w", i, err)
		}
	}
	l, err := newLayer(filepath.Join(out, "own.tar"))
	if err != nil {
		return err
	}
	l.link(haproxyProgram, haproxyOfficial)
	return l.Close()
}

func copyToFile(path string, content io.Reader) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, content)
	return err
}
