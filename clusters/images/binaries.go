package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// testPrograms are what a test against a real API server runs.
func testPrograms() []string { return []string{"kube-apiserver", "kubectl"} }

// Binaries gives a directory with kube-apiserver, kubectl and etcd as programs
// for this machine, the very ones that are in the node image of the version.
// They are built if they are not in the cache, which needs neither root nor an
// engine.
func Binaries(ctx context.Context, version string, opts Options) (dir string, err error) {
	version, err = ParseVersion(version)
	if err != nil {
		return "", err
	}
	plan, err := planNode(ctx, version)
	if err != nil {
		return "", err
	}
	kube, etcd := plan.built["kube"], plan.built["etcd"]
	s := step{name: "bin", title: "test programs", inputs: []string{kube.key(), etcd.key()}}
	s.make = func(_ context.Context, _, out string) error { return linkPrograms(plan.st, kube, etcd, out) }
	if plan.st.has(s) && plan.st.has(kube) && plan.st.has(etcd) {
		return plan.st.path(s), nil
	}
	out := opts.progress()
	unlock, err := plan.st.lock(ctx, func() { fmt.Fprintln(out, "waiting for another image build on this machine to finish") })
	if err != nil {
		return "", err
	}
	defer unlock()
	var steps []step
	var titles []string
	for _, s := range []step{kube, etcd, s} {
		if !plan.st.has(s) {
			steps, titles = append(steps, s), append(titles, s.title)
		}
	}
	if err := plan.runSteps(ctx, newProgress(out, time.Now, titles), steps); err != nil {
		return "", err
	}
	return plan.st.path(s), nil
}

// linkPrograms makes a directory of links relative to it, so that the cache can
// be moved.
func linkPrograms(st store, kube, etcd step, out string) error {
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	for _, name := range testPrograms() {
		if err := os.Symlink(filepath.Join("..", filepath.Base(st.path(kube))), filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return os.Symlink(filepath.Join("..", filepath.Base(st.path(etcd))), filepath.Join(out, "etcd"))
}
