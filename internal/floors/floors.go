// Package floors holds the building plan of this module as a table and checks
// source files against it: a package imports only from floors that its own floor
// may look down on.
package floors

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path that imports of this module begin with.
const Module = "secondhop"

// MaxLines is the length beyond which a source file has to be divided.
const MaxLines = 600

// Floor is a set of packages with the same rights.
type Floor struct {
	Name string
	// Packages are directories; each stands for all below it as well, unless a
	// longer one says otherwise.
	Packages []string
	// Below names the floors that may be imported. Packages of one floor may
	// import each other; the compiler keeps that free of cycles.
	Below []string
	// StandardOnly forbids what is not in the standard library.
	StandardOnly bool
	// Pure forbids Kubernetes and Docker libraries: arithmetic, files and text only.
	Pure bool
}

// Plan is the floors of this module from the top down.
func Plan() []Floor {
	base := []string{"base"}
	parts := []string{"base", "agent", "parts"}
	lab := append(slices.Clone(parts), "fixtures", "kube", "lab")
	observed := append(slices.Clone(parts), "ground")
	return []Floor{
		{Name: "top", Packages: []string{"cmd", "e2e"}, Below: append(slices.Clone(lab), "ground", "measure", "harness", "report", "runner")},
		{Name: "runner", Packages: []string{"internal/runner", "internal/play", "internal/compare"}, Below: append(slices.Clone(lab), "ground", "measure", "harness", "report")},
		{Name: "harness", Packages: []string{"internal/faults", "internal/deploy", "internal/observe", "internal/edges", "internal/trial", "internal/checks"},
			Below: append(slices.Clone(lab), "ground", "measure")},
		{Name: "report", Packages: []string{"internal/report"}, Below: append(slices.Clone(observed), "measure"), Pure: true},
		{Name: "measure", Packages: []string{"internal/measure"}, Below: observed, Pure: true},
		{Name: "ground", Packages: []string{"internal/timeline", "internal/locality"}, Below: base, Pure: true},
		// The lab knows nothing of what is measured in it.
		{Name: "lab", Packages: []string{"clusters"}, Below: []string{"base", "kube", "fixtures"}},
		{Name: "kube", Packages: []string{"internal/kube"}, Below: base},
		{Name: "fixtures", Packages: []string{"fixtures"}, Below: base},
		// The deployed parts run without any of the harness.
		{Name: "parts", Packages: []string{"usher", "edge", "loadgen"}, Below: []string{"base", "agent"}},
		{Name: "agent", Packages: []string{"agent"}, StandardOnly: true},
		{Name: "base", Packages: []string{"internal/units", "internal/failure", "internal/wait", "internal/cleanup", "internal/command"}},
		{Name: "plan", Packages: []string{"internal/floors"}},
		{Name: "test servers", Packages: []string{"internal/envtest"}, Below: base}, // imported by tests only
	}
}

// floorOf is the floor of a directory: the one with the longest package that
// contains it.
func floorOf(plan []Floor, dir string) (Floor, bool) {
	var found Floor
	longest := ""
	for _, floor := range plan {
		for _, p := range floor.Packages {
			if (dir == p || strings.HasPrefix(dir, p+"/")) && len(p) > len(longest) {
				found, longest = floor, p
			}
		}
	}
	return found, longest != ""
}

// Check reads every Go file below the root of the module and says what breaks
// the plan, one sentence each, in the order of the files. Imports of test files
// are free: a test may stand on anything.
func Check(root fs.FS, plan []Floor) ([]string, error) {
	var wrong []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && skipped(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		sentences, err := checkFile(plan, name, source)
		wrong = append(wrong, sentences...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("check the floors: %w", err)
	}
	return wrong, nil
}

// skipped are the directories that the go command ignores as well.
func skipped(dir string) bool {
	return dir == "testdata" || dir == "vendor" || strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_")
}

func checkFile(plan []Floor, name string, source []byte) ([]string, error) {
	var wrong []string
	if lines := strings.Count(string(source), "\n"); lines > MaxLines {
		wrong = append(wrong, fmt.Sprintf("%s has %d lines, more than %d: divide it", name, lines, MaxLines))
	}
	if strings.HasSuffix(name, "_test.go") {
		return wrong, nil
	}
	dir := path.Dir(name)
	floor, ok := floorOf(plan, dir)
	if !ok {
		return append(wrong, fmt.Sprintf("%s: package %s is on no floor: add it to the plan", name, dir)), nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
	if err != nil {
		return wrong, err
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return wrong, err
		}
		if why := floor.refuses(plan, imported); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", name, imported, why))
		}
	}
	return wrong, nil
}

// refuses says why packages of the floor may not import a package, or "".
func (f Floor) refuses(plan []Floor, imported string) string {
	dir, ours := strings.CutPrefix(imported, Module+"/")
	external := !ours && strings.Contains(strings.Split(imported, "/")[0], ".")
	switch {
	case external && f.StandardOnly:
		return "the " + f.Name + " uses the standard library only"
	case external && f.Pure && heavy(imported):
		return "floor " + f.Name + " is free of Kubernetes and Docker"
	case !ours:
		return ""
	}
	below, ok := floorOf(plan, dir)
	switch {
	case !ok:
		return dir + " is on no floor: add it to the plan"
	case below.Name == f.Name || slices.Contains(f.Below, below.Name):
		return ""
	}
	return fmt.Sprintf("floor %s is not below floor %s", below.Name, f.Name)
}

// heavy reports whether a library needs a cluster or an engine to make sense.
func heavy(imported string) bool {
	for _, prefix := range []string{"k8s.io/", "sigs.k8s.io/", "github.com/docker/", "github.com/vishvananda/", "github.com/google/nftables"} {
		if strings.HasPrefix(imported, prefix) {
			return true
		}
	}
	return false
}
