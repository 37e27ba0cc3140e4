package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileTime is the time of every file that we put into an archive: equal input
// then gives equal bytes.
func fileTime() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }

// archiveTree writes the files below root to a tar at path, sorted by name,
// without those that keep refuses. Names given to keep have no leading slash.
func archiveTree(root, path string, keep func(name string, dir bool) bool) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := tar.NewWriter(file)
	seen := map[uint64]string{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || name == "." || !keep(name, entry.IsDir()) {
			return err
		}
		return archiveFile(w, path, name, seen)
	})
	if err != nil {
		return fmt.Errorf("archive %s: %w", root, err)
	}
	return w.Close()
}

// archiveFile adds one file. seen maps the inodes of files with several names
// to the first of them.
func archiveFile(w *tar.Writer, path, name string, seen map[uint64]string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	link := ""
	switch {
	case info.Mode()&fs.ModeSocket != 0:
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name, header.ModTime, header.Format = name, fileTime(), tar.FormatPAX
	header.AccessTime, header.ChangeTime, header.Uname, header.Gname = time.Time{}, time.Time{}, "", ""
	if info.IsDir() {
		header.Name += "/"
	}
	if !info.Mode().IsRegular() {
		return w.WriteHeader(header)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && stat.Nlink > 1 {
		if first, again := seen[stat.Ino]; again {
			header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
			return w.WriteHeader(header)
		}
		seen[stat.Ino] = name
	}
	if value := fileCapability(path); value != "" {
		header.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": value}
	}
	return writeEntry(w, header, path)
}

// fileCapability is the extended attribute that lets a program do what root can.
func fileCapability(path string) string {
	value := make([]byte, 64)
	n, err := unix.Lgetxattr(path, "security.capability", value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}

func writeEntry(w *tar.Writer, header *tar.Header, path string) error {
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}

// archiveIndex finds files in a tar without unpacking it.
type archiveIndex struct {
	file    *os.File
	entries map[string]indexEntry
}

type indexEntry struct {
	header *tar.Header
	offset int64
}

func openArchive(path string) (*archiveIndex, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	index := &archiveIndex{file: file, entries: map[string]indexEntry{}}
	r := tar.NewReader(file)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return index, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), file.Close())
		}
		// The reader has consumed the header and nothing of the content.
		offset, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), file.Close())
		}
		index.entries[strings.Trim(header.Name, "/")] = indexEntry{header, offset}
	}
}

func (a *archiveIndex) Close() error { return a.file.Close() }

// maxLinks bounds the links followed for one name, as the kernel does.
const maxLinks = 40

// resolve follows all links in a name and returns the name of the file itself.
func (a *archiveIndex) resolve(name string) (string, error) {
	wanted := name
	for range maxLinks {
		next, changed := a.follow(name)
		if !changed {
			if _, ok := a.entries[next]; !ok {
				return "", fmt.Errorf("file %s: %w", wanted, fs.ErrNotExist)
			}
			return next, nil
		}
		name = next
	}
	return "", fmt.Errorf("file %s: too many links", wanted)
}

// follow replaces the first link in a name, if there is one.
func (a *archiveIndex) follow(name string) (string, bool) {
	name = strings.Trim(filepath.Clean("/"+name), "/")
	parts := strings.Split(name, "/")
	for i := range parts {
		prefix := strings.Join(parts[:i+1], "/")
		entry, ok := a.entries[prefix]
		if !ok {
			continue
		}
		switch entry.header.Typeflag {
		case tar.TypeSymlink:
			target := entry.header.Linkname
			if !strings.HasPrefix(target, "/") {
				target = filepath.Join("/", filepath.Dir(prefix), target)
			}
			return strings.Trim(filepath.Join(append([]string{target}, parts[i+1:]...)...), "/"), true
		case tar.TypeLink:
			return entry.header.Linkname, true
		}
	}
	return name, false
}

// open gives a file's content; links are followed.
func (a *archiveIndex) open(name string) (*io.SectionReader, error) {
	real, err := a.resolve(name)
	if err != nil {
		return nil, err
	}
	entry := a.entries[real]
	return io.NewSectionReader(a.file, entry.offset, entry.header.Size), nil
}
