package images

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// libraryDirs are where Debian's dynamic loader looks, most specific first.
func libraryDirs() []string {
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[goArch()]
	return []string{"usr/lib/" + triplet, "usr/lib", "usr/lib64"}
}

// closure lists the files that programs need at run time, themselves included:
// every library in turn and the loader. The names are those that the loader
// asks for; resolving their links is the reader's part.
func (a *archiveIndex) closure(programs ...string) ([]string, error) {
	var found []string
	todo := slices.Clone(programs)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if slices.Contains(found, name) {
			continue
		}
		found = append(found, name)
		needs, err := a.needs(name)
		if err != nil {
			return nil, fmt.Errorf("libraries of %s: %w", name, err)
		}
		todo = append(todo, needs...)
	}
	slices.Sort(found)
	return found, nil
}

// needs lists the files that one program or library names.
func (a *archiveIndex) needs(name string) ([]string, error) {
	content, err := a.open(name)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(content)
	if err != nil {
		return nil, err
	}
	var needs []string
	if loader := file.Section(".interp"); loader != nil {
		path, err := loader.Data()
		if err != nil {
			return nil, err
		}
		needs = append(needs, strings.Trim(string(path), "/\x00"))
	}
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, library := range libraries {
		path, err := a.findLibrary(library)
		if err != nil {
			return nil, err
		}
		needs = append(needs, path)
	}
	return needs, nil
}

func (a *archiveIndex) findLibrary(name string) (string, error) {
	for _, dir := range libraryDirs() {
		path := dir + "/" + name
		if _, err := a.resolve(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("library %s: %w", name, fs.ErrNotExist)
}
