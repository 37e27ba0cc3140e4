package images

import (
	"context"
	"io/fs"
	"time"
)

// edgeBaseRecipe counts changes of the code below that change its result.
const edgeBaseRecipe = "1"

// edgeBase gives the layer with HAProxy and the libraries that it needs, taken
// from the root file system of a node.
func edgeBase(ctx context.Context, st store, opts Options) (string, error) {
	rootfs := rootfsStep()
	s := step{name: "haproxy", title: "HAProxy layer", inputs: []string{edgeBaseRecipe, rootfs.key()}}
	s.make = func(_ context.Context, _, out string) error { return haproxyLayer(st.path(rootfs), out) }
	var todo []step
	for _, s := range []step{rootfs, s} {
		if !st.has(s) {
			todo = append(todo, s)
		}
	}
	if st.has(s) || len(todo) == 0 {
		return st.path(s), nil
	}
	var titles []string
	for _, s := range todo {
		titles = append(titles, s.title)
	}
	report := newProgress(opts.progress(), time.Now, titles)
	for _, s := range todo {
		if err := track(ctx, report, s.title, func(ctx context.Context) error { return st.run(ctx, s) }); err != nil {
			return "", err
		}
	}
	return st.path(s), nil
}

// haproxyProgram is where HAProxy is in Debian and in the edge's image.
const haproxyProgram = "usr/sbin/haproxy"

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
