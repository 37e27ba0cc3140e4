package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"secondhop/clusters/engine"
	"secondhop/internal/command"
	"secondhop/internal/failure"
)

// nodePlan is all that it takes to assemble one node image. Its steps are fixed
// by the inputs; which of them are yet to be done depends on the cache.
type nodePlan struct {
	version string
	ref     string
	st      store
	rootfs  step
	built   map[string]step
	order   []string
	inner   step
	seed    step
	node    step
}

// planNode works out the steps for a version. It downloads the source of
// Kubernetes, which names most of the inputs, and nothing else.
func planNode(ctx context.Context, version string) (nodePlan, error) {
	p := nodePlan{version: version, rootfs: rootfsStep(), built: map[string]step{}}
	var err error
	if p.st, err = openStore(); err != nil {
		return p, err
	}
	kubernetes, err := downloadKubernetes(ctx, version)
	if err != nil {
		return p, err
	}
	all, parts, err := programs(ctx, version, kubernetes)
	if err != nil {
		return p, err
	}
	goVersion, err := goCommand(ctx, "/", "env", "GOVERSION")
	if err != nil {
		return p, err
	}
	for _, program := range all {
		s, err := program.step(strings.TrimSpace(goVersion) + " " + goArch())
		if err != nil {
			return p, err
		}
		p.built[program.name] = s
		p.order = append(p.order, program.name)
	}
	p.inner = innerStep(p.st, version, parts, p.rootfs, p.built)
	p.seed = seedStep(p.st, p.rootfs, p.inner)
	p.node = nodeStep(p.st, version, parts, p.rootfs, p.built["kube"], p.seed)
	p.ref = fmt.Sprintf("%s:v%s-%s", ownRepository, version, p.node.key()[:shortHash])
	return p, nil
}

// ready says that nothing is left to be built: the image need only be loaded.
func (p nodePlan) ready() bool { return p.st.has(p.node) && p.st.has(p.rootfs) }

const loadTitle = "load into the engine"

// todo lists what is not in the cache, in two lanes that can run side by side,
// Debian's packages and Go's programs, and the rest that needs both.
func (p nodePlan) todo() (packages, compile, join []step) {
	add := func(list []step, s step) []step {
		if p.st.has(s) {
			return list
		}
		return append(list, s)
	}
	packages = add(packages, p.rootfs)
	if p.st.has(p.node) {
		return packages, nil, nil
	}
	for _, name := range p.order {
		compile = add(compile, p.built[name])
	}
	if !p.st.has(p.seed) {
		join = add(join, p.inner)
	}
	return packages, compile, add(add(join, p.seed), p.node)
}

// build makes what is missing and loads the image into the engine.
func (p nodePlan) build(ctx context.Context, opts Options) (NodeImage, error) {
	out := opts.progress()
	unlock, err := p.st.lock(ctx, func() { fmt.Fprintln(out, "waiting for another image build on this machine to finish") })
	if err != nil {
		return NodeImage{}, err
	}
	defer unlock()
	packages, compile, join := p.todo()
	if len(packages)+len(compile)+len(join) > 0 {
		if err := needProgramsAndRoot("debootstrap", "unshare"); err != nil {
			return NodeImage{}, err
		}
		if err := needSpace(p.st.dir, spaceForBuild); err != nil {
			return NodeImage{}, err
		}
	}
	var titles []string
	for _, s := range append(append(append([]step(nil), packages...), compile...), join...) {
		titles = append(titles, s.title)
	}
	report := newProgress(out, time.Now, append(titles, loadTitle))
	lanes, laneCtx := errgroup.WithContext(ctx)
	lanes.Go(func() error { return p.runSteps(laneCtx, report, packages) })
	lanes.Go(func() error { return p.runSteps(laneCtx, report, compile) })
	if err := lanes.Wait(); err != nil {
		return NodeImage{}, err
	}
	if err := p.runSteps(ctx, report, join); err != nil {
		return NodeImage{}, err
	}
	if err := track(ctx, report, loadTitle, p.load); err != nil {
		return NodeImage{}, err
	}
	id, err := imageID(ctx, p.ref)
	return NodeImage{p.ref, id, p.version, SourceAssembled}, err
}

func (p nodePlan) runSteps(ctx context.Context, report *progress, steps []step) error {
	for _, s := range steps {
		if err := track(ctx, report, s.title, func(ctx context.Context) error { return p.st.run(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

// track reports on one step from its beginning to its end.
func track(ctx context.Context, report *progress, title string, do func(context.Context) error) error {
	end := report.begin(title)
	watching, stop := context.WithCancel(ctx)
	go report.watch(watching, title, heartbeat)
	err := do(ctx)
	stop()
	end(err)
	if err != nil && ctx.Err() != nil {
		return failure.Infra(fmt.Errorf("stopped during %q: %w", title, context.Cause(ctx)), "run the same command again; finished steps are kept")
	}
	return err
}

// load hands the image to the engine, straight from the cached layers.
func (p nodePlan) load(ctx context.Context) error {
	spec := imageSpec{ref: p.ref, layers: []string{p.st.path(p.rootfs), p.st.path(p.node)}, config: v1.Config{
		Env:        []string{searchPath, "container=docker"},
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		// systemd takes SIGTERM for a request to start anew.
		StopSignal: "SIGRTMIN+3",
		Labels:     map[string]string{"io.secondhop.inputs": p.node.key(), "io.secondhop.kubernetes": p.version},
	}}
	return loadImages(ctx, p.st.dir, spec)
}

// loadImages streams images into the local engine.
func loadImages(ctx context.Context, dir string, specs ...imageSpec) error {
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := writeImages(writer, specs...)
		writer.CloseWithError(err)
		written <- err
	}()
	err := command.Stream(ctx, reader, io.Discard, "docker", "load", "--quiet")
	reader.CloseWithError(errors.New("docker load has ended"))
	if writeErr := <-written; err == nil {
		err = writeErr
	}
	if err != nil {
		return explainDisk(dir, fmt.Errorf("load image %s: %w", specs[0].ref, engine.Explain(err)))
	}
	return nil
}
