package clusters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"secondhop/clusters/engine"
	"secondhop/clusters/images"
	"secondhop/clusters/links"
	"secondhop/clusters/network"
	"secondhop/internal/cleanup"
	"secondhop/internal/failure"
	"secondhop/internal/wait"
)

// Options are how Ensure goes about it.
type Options struct {
	// Progress receives lines about what goes on; nil for none.
	Progress io.Writer
	// Command is what the lock shows to others while Ensure runs; empty means "up".
	Command string
	// Lock is the lab's lock when the caller has it already. Else Ensure takes it
	// and gives it back.
	Lock *Lock
	// Furnish puts things into a new lab, beside the wait for its readiness: it runs
	// as soon as the API server answers and the workers are told to join. It is not
	// called for a lab that is up already.
	Furnish func(ctx context.Context, cluster *Cluster) error
	// Recreate makes the lab anew when it is not what is asked for, or broken,
	// instead of refusing to touch it.
	Recreate bool
}

// Ensure gives a lab as spec wants it: the one that is up if it matches (its links
// are shaped anew), else a new one. On any error, and when ctx ends, nothing of a
// new lab is left; a lab that was up before stays.
func Ensure(ctx context.Context, spec Spec, opts Options) (*Cluster, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if err := needRoot("make a lab"); err != nil {
		return nil, err
	}
	if opts.Lock == nil {
		command := opts.Command
		if command == "" {
			command = "secondhop up"
		}
		lock, err := Acquire(spec.Name, command)
		if err != nil {
			return nil, err
		}
		defer lock.Release()
	}
	if err := engine.Answers(ctx); err != nil {
		return nil, err
	}
	progress := newProgress(opts.Progress)
	existing, err := network.FindLab(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	if existing != nil {
		cluster, err := reuse(ctx, spec, progress)
		if err == nil {
			return cluster, nil
		}
		if !opts.Recreate && !errors.Is(err, errHalfMade) {
			return nil, err
		}
		progress.say("removing the old lab: %v", err)
		if err := removeLab(ctx, spec.Name); err != nil {
			return nil, err
		}
	}
	return makeNew(ctx, spec, opts.Furnish, progress)
}

// needRoot refuses early what would fail half-way.
func needRoot(what string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return failure.Infra(fmt.Errorf("to %s takes root: firewall rules and links are set", what), "run it with sudo")
}

// makeNew makes a lab where none is.
func makeNew(ctx context.Context, spec Spec, furnish func(context.Context, *Cluster) error, progress *progress) (*Cluster, error) {
	if err := checkMemory(spec.Workers); err != nil {
		return nil, err
	}
	files, err := openState(spec.Name)
	if err != nil {
		return nil, err
	}
	image, err := images.Ensure(ctx, spec.Kubernetes, images.Options{Progress: progress.to})
	if err != nil {
		return nil, fmt.Errorf("get a node image: %w", err)
	}
	progress.say("node image %s (%s)", image.Ref, image.Source)
	m := &maker{spec: spec, image: image, state: files, furnish: furnish, progress: progress}
	return m.create(ctx)
}

// errHalfMade says that a lab is there of which nobody has finished the making.
var errHalfMade = errors.New("its making was cut short")

// reuseLimit is how long a lab that is up may take to be ready: it should be at
// once, but it may have been started just now by a reboot.
const reuseLimit = time.Minute

// reuse gives the lab that is up if it is what spec wants and works.
func reuse(ctx context.Context, spec Spec, progress *progress) (*Cluster, error) {
	cluster, err := Running(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	if cluster.Spec.Hash() != spec.Hash() {
		return nil, failure.Input(fmt.Errorf("lab %s is up with %s", spec.Name, strings.Join(cluster.Spec.differences(spec), ", ")),
			"add --recreate to replace it, or ask for what is there")
	}
	lab := network.Lab(spec.Name)
	if err := errors.Join(network.InstallStopGap(ctx), lab.Guard().Install(ctx)); err != nil {
		return nil, err
	}
	client, err := cluster.client()
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, reuseLimit)
	defer cancel()
	err = wait.Until(waiting, "lab "+spec.Name+", which is up,", poll, func(ctx context.Context) error {
		return progress.waiting(notReady(ctx, client, cluster))
	})
	if err != nil {
		return nil, failure.Infra(err, "secondhop up --recreate makes the lab anew")
	}
	if err := links.Shape(ctx, links.Both(spec.Link), cluster.WorkerNames()...); err != nil {
		return nil, err
	}
	cluster.Spec.Link, cluster.Reused = spec.Link, true
	progress.say("lab %s is up already; links of %s", spec.Name, spec.Link)
	files, err := openState(spec.Name)
	if err != nil {
		return nil, err
	}
	return cluster, files.save(cluster)
}

// Running attaches to a lab that is up. It takes no lock.
func Running(ctx context.Context, name string) (*Cluster, error) {
	existing, err := network.FindLab(ctx, name)
	if err != nil {
		return nil, err
	}
	if existing == nil {
		return nil, failure.Infra(fmt.Errorf("no lab named %s is up", name), "secondhop up")
	}
	files, err := openState(name)
	if err != nil {
		return nil, err
	}
	cluster, err := files.load()
	if err != nil {
		return nil, err
	}
	if cluster == nil {
		return nil, failure.Infra(fmt.Errorf("lab %s is not whole: %w", name, errHalfMade),
			"secondhop up makes it anew")
	}
	if died := deadNode(ctx, name); died != nil {
		return nil, died
	}
	return cluster, nil
}

// Down removes the lab of that name and all that belongs to it. Nothing being there
// is no failure.
func Down(ctx context.Context, name string, progress io.Writer) error {
	if err := needRoot("remove a lab"); err != nil {
		return err
	}
	lock, err := Acquire(name, "secondhop down")
	if err != nil {
		return err
	}
	defer lock.Release()
	return DownLocked(ctx, name, progress)
}

// DownLocked is Down for a caller that has the lab's lock.
func DownLocked(ctx context.Context, name string, progress io.Writer) error {
	if err := engine.Answers(ctx); err != nil {
		return err
	}
	if _, err := network.FindLab(ctx, name); err != nil {
		return err
	}
	p := newProgress(progress)
	p.say("removing lab %s", name)
	if err := removeLab(ctx, name); err != nil {
		return err
	}
	p.say("gone")
	return nil
}

// removeLab does not stop half-way when ctx ends.
func removeLab(ctx context.Context, name string) error {
	files, err := openState(name)
	if err != nil {
		return err
	}
	var stack cleanup.Stack
	pushLabUndo(&stack, name, files)
	return stack.Run(ctx, undoLimit)
}
