package clusters

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// LoadImages imports image archives, as docker save writes them, into containerd
// on every node. A node that has all images of an archive is left alone: the names
// of images must then tell their contents apart, as ours do by a hash.
func (c *Cluster) LoadImages(ctx context.Context, archives ...string) error {
	contents := make([][]string, len(archives))
	for i, archive := range archives {
		var err error
		if contents[i], err = imagesIn(archive); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(2, runtime.NumCPU())) // unpacking is work for the processor and the disk
	for _, node := range c.Nodes {
		group.Go(func() error {
			for i, archive := range archives {
				if err := loadOnto(ctx, node.Name, archive, contents[i]); err != nil {
					return fmt.Errorf("load %s onto %s: %w", archive, node.Name, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func loadOnto(ctx context.Context, node, archive string, wanted []string) error {
	listing, err := execIn(ctx, node, nil, "ctr", "--namespace", "k8s.io", "images", "ls", "--quiet")
	if err != nil {
		return err
	}
	have := strings.Fields(listing)
	if !slices.ContainsFunc(wanted, func(image string) bool { return !slices.Contains(have, image) }) {
		return nil
	}
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = execIn(ctx, node, file, "ctr", "--namespace", "k8s.io", "images", "import", "-")
	return err
}

// imagesIn lists the images of an archive by the names that containerd gives them.
func imagesIn(archive string) ([]string, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("read image archive: %w", err)
	}
	defer file.Close()
	names, err := readRepoTags(file)
	if err != nil {
		return nil, fmt.Errorf("read image archive %s: %w", archive, err)
	}
	return names, nil
}

// readRepoTags finds the tags in the manifest.json of a docker archive.
func readRepoTags(archive io.Reader) ([]string, error) {
	reader := tar.NewReader(archive)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it has no manifest.json")
		}
		if err != nil {
			return nil, err
		}
		if header.Name != "manifest.json" {
			continue
		}
		var manifest []struct{ RepoTags []string }
		if err := json.NewDecoder(reader).Decode(&manifest); err != nil {
			return nil, fmt.Errorf("manifest.json: %w", err)
		}
		var names []string
		for _, image := range manifest {
			for _, tag := range image.RepoTags {
				names = append(names, fullName(tag))
			}
		}
		if len(names) == 0 {
			return nil, errors.New("its images have no names")
		}
		return names, nil
	}
}

// fullName puts Docker Hub's host before a name that has none, as containerd does.
func fullName(tag string) string {
	host, rest, found := strings.Cut(tag, "/")
	switch {
	case !found:
		return "docker.io/library/" + tag
	case strings.ContainsAny(host, ".:") || host == "localhost":
		return host + "/" + rest
	}
	return "docker.io/" + tag
}
