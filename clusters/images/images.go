package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"secondhop/clusters/engine"
	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// NodeImage is a node image in the local engine.
type NodeImage struct {
	// Ref is what kind starts nodes from.
	Ref string `json:"ref"`
	// Digest is the engine's id of the image, "sha256:...".
	Digest string `json:"digest"`
	// Kubernetes is the version without the leading "v".
	Kubernetes string `json:"kubernetes"`
	// Source says where it comes from: one of the constants below.
	Source string `json:"source"`
}

// Where a node image can come from.
const (
	SourceLocal     = "local"     // an official kind image that was in the engine
	SourcePulled    = "pulled"    // an official kind image, pulled just now
	SourceAssembled = "assembled" // made from Debian packages and Go modules
)

// Options are the choices of Ensure and Build.
type Options struct {
	// Progress receives lines about what goes on; nil for none.
	Progress io.Writer
	// PullTimeout is how long the registry may take to answer; 0 means 10 s.
	PullTimeout time.Duration
}

func (o Options) progress() io.Writer {
	if o.Progress == nil {
		return io.Discard
	}
	return o.Progress
}

// ownRepository is the name of node images that were assembled here.
const ownRepository = "secondhop/node"

// OfficialRef is the name of kind's own image of a version.
func OfficialRef(version string) string { return "kindest/node:v" + version }

// Ensure gives a node image of a Kubernetes version: one that is in the local
// engine, else one that can be pulled (one short try), else one that is
// assembled from source, which takes many minutes the first time.
func Ensure(ctx context.Context, version string, opts Options) (NodeImage, error) {
	version, err := ParseVersion(version)
	if err != nil {
		return NodeImage{}, err
	}
	if id, err := imageID(ctx, OfficialRef(version)); err != nil || id != "" {
		return NodeImage{OfficialRef(version), id, version, SourceLocal}, err
	}
	plan, err := planNode(ctx, version)
	if err != nil {
		return NodeImage{}, err
	}
	if id, err := imageID(ctx, plan.ref); err != nil || id != "" {
		return NodeImage{plan.ref, id, version, SourceAssembled}, err
	}
	if !plan.ready() {
		if pullErr := pull(ctx, OfficialRef(version), opts); pullErr == nil {
			id, err := imageID(ctx, OfficialRef(version))
			return NodeImage{OfficialRef(version), id, version, SourcePulled}, err
		} else if ctx.Err() != nil {
			return NodeImage{}, pullErr
		} else {
			fmt.Fprintf(opts.progress(), "node image: %v; assembling it from source instead\n", pullErr)
		}
	}
	return plan.build(ctx, opts)
}

// Build assembles the node image of a version, whatever else there is. Steps
// whose inputs did not change come from the cache.
func Build(ctx context.Context, version string, opts Options) (NodeImage, error) {
	version, err := ParseVersion(version)
	if err != nil {
		return NodeImage{}, err
	}
	plan, err := planNode(ctx, version)
	if err != nil {
		return NodeImage{}, err
	}
	if id, err := imageID(ctx, plan.ref); err != nil || id != "" {
		return NodeImage{plan.ref, id, version, SourceAssembled}, err
	}
	return plan.build(ctx, opts)
}

// imageID is the engine's id of an image, or "" if it has no such image.
func imageID(ctx context.Context, ref string) (string, error) {
	out, err := engine.Run(ctx, "image", "inspect", "--format", "{{.Id}}", ref)
	if engine.Absent(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for image %s: %w", ref, err)
	}
	return strings.TrimSpace(out), nil
}

// spaceForBuild is what a cold build writes: module and build caches of the go
// command, the steps' results, and the image in the engine.
const spaceForBuild = 9 * units.Gibibyte

// needSpace refuses a build that would fill the disk.
func needSpace(dir string, need units.Bytes) error {
	free := freeSpace(dir)
	if free >= need {
		return nil
	}
	return failure.Infra(fmt.Errorf("a build needs about %s of free disk, and %s has %s", need, dir, free),
		"free some space (docker system prune; go clean -cache), or set "+CacheVariable+" to a larger disk")
}

var errNoProgress = errors.New("no answer from the registry")
