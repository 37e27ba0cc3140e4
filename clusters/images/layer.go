package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// fileLayer is an image layer that is a tar on disk, not compressed: our images
// never cross a network, so compressing them only costs time.
type fileLayer struct {
	path string
	hash v1.Hash
	size int64
}

func newFileLayer(path string) (fileLayer, error) {
	file, err := os.Open(path)
	if err != nil {
		return fileLayer{}, err
	}
	defer file.Close()
	hash, size, err := v1.SHA256(file)
	if err != nil {
		return fileLayer{}, fmt.Errorf("hash layer %s: %w", path, err)
	}
	return fileLayer{path, hash, size}, nil
}

func (l fileLayer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l fileLayer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l fileLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l fileLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l fileLayer) Size() (int64, error)                 { return l.size, nil }
func (l fileLayer) MediaType() (types.MediaType, error)  { return types.DockerUncompressedLayer, nil }

// imageSpec is an image to be written: its name, configuration and layers, the
// lowest first.
type imageSpec struct {
	ref    string
	config v1.Config
	layers []string
}

// writeImages writes images to one docker-archive; layers that they share are
// in it once.
func writeImages(w io.Writer, specs ...imageSpec) error {
	images := map[name.Reference]v1.Image{}
	known := map[string]fileLayer{}
	for _, spec := range specs {
		var layers []v1.Layer
		for _, file := range spec.layers {
			if _, ok := known[file]; !ok {
				layer, err := newFileLayer(file)
				if err != nil {
					return err
				}
				known[file] = layer
			}
			layers = append(layers, known[file])
		}
		image, err := buildImage(spec.config, layers)
		if err != nil {
			return fmt.Errorf("image %s: %w", spec.ref, err)
		}
		ref, err := name.NewTag(spec.ref)
		if err != nil {
			return fmt.Errorf("image %s: %w", spec.ref, err)
		}
		images[ref] = image
	}
	return tarball.MultiRefWrite(images, w)
}

func buildImage(config v1.Config, layers []v1.Layer) (v1.Image, error) {
	file := &v1.ConfigFile{Architecture: goArch(), OS: "linux", Created: v1.Time{Time: fileTime()}, Config: config}
	image, err := mutate.ConfigFile(empty.Image, file)
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layers...)
}

// layerWriter writes one layer's tar. Parent directories are added as they are
// first needed; the first error sticks and Close returns it.
type layerWriter struct {
	file *os.File
	tar  *tar.Writer
	dirs map[string]bool
	err  error
}

func newLayer(path string) (*layerWriter, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &layerWriter{file: file, tar: tar.NewWriter(file), dirs: map[string]bool{}}, nil
}

// Close completes the layer.
func (l *layerWriter) Close() error {
	if l.err == nil {
		l.err = l.tar.Close()
	}
	return errors.Join(l.err, l.file.Close())
}

func (l *layerWriter) header(h tar.Header) {
	if l.err != nil {
		return
	}
	h.Name = strings.TrimPrefix(h.Name, "/")
	if parent := path.Dir(strings.TrimSuffix(h.Name, "/")); parent != "." && !l.dirs[parent] {
		l.directory(parent, 0o755)
	}
	h.ModTime, h.Format = fileTime(), tar.FormatPAX
	if l.err == nil {
		l.err = l.tar.WriteHeader(&h)
	}
}

// directory adds a directory; one that was added before stays as it was.
func (l *layerWriter) directory(name string, mode fs.FileMode) {
	name = strings.Trim(name, "/")
	if l.dirs[name] {
		return
	}
	l.dirs[name] = true
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	l.header(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: bits})
}

// link adds a symbolic link.
func (l *layerWriter) link(name, target string) {
	l.header(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
}

// text adds a file with the given content.
func (l *layerWriter) text(name, content string, mode fs.FileMode) {
	l.stream(name, strings.NewReader(content), int64(len(content)), mode)
}

// stream adds a file of size bytes from r.
func (l *layerWriter) stream(name string, r io.Reader, size int64, mode fs.FileMode) {
	l.header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode.Perm()), Size: size})
	if l.err == nil {
		_, l.err = io.Copy(l.tar, r)
	}
}

// copyFile adds a file of the machine under another name.
func (l *layerWriter) copyFile(name, source string, mode fs.FileMode) {
	if l.err != nil {
		return
	}
	file, err := os.Open(source)
	if err != nil {
		l.err = err
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		l.err = err
		return
	}
	l.stream(name, file, info.Size(), mode)
}

// copyFrom adds files of another archive under their own names, links replaced
// by what they lead to.
func (l *layerWriter) copyFrom(archive *archiveIndex, names ...string) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		content, err := archive.open(name)
		if err != nil {
			l.err = errors.Join(l.err, err)
			return
		}
		l.stream(name, content, content.Size(), 0o755)
	}
}

// copyTree adds all entries of a tar as they are; dirs in it count as added.
func (l *layerWriter) copyTree(archive string) {
	file, err := os.Open(archive)
	if err != nil {
		l.err = errors.Join(l.err, err)
		return
	}
	defer file.Close()
	r := tar.NewReader(file)
	for l.err == nil {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l.err = err
			return
		}
		if header.Typeflag == tar.TypeDir {
			l.dirs[strings.Trim(header.Name, "/")] = true
		}
		if l.err = l.tar.WriteHeader(header); l.err == nil {
			_, l.err = io.Copy(l.tar, r)
		}
	}
}
