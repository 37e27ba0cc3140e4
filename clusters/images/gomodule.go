package images

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The sources that only exist as modules of their own are kept as text: a
// directory with a go.mod cannot be embedded.
//
//go:embed sources
var sources embed.FS

// goProgram is a program that is built from a generated module.
type goProgram struct {
	name, title string
	// source is the file of package main below sources/; "" when pkg is built.
	source string
	// pkg is the package to build; "." is the one that source is in.
	pkg string
	// gomod is the text of the module's go.mod.
	gomod string
	// variables are set at link time.
	variables []string
	tags      string
}

// step is the build of the program: one static file.
func (p goProgram) step(goVersion string) (step, error) {
	var source []byte
	if p.source != "" {
		var err error
		if source, err = sources.ReadFile("sources/" + p.source); err != nil {
			return step{}, fmt.Errorf("build %s: %w", p.name, err)
		}
	}
	inputs := append([]string{goVersion, p.gomod, p.pkg, p.tags, string(source)}, p.variables...)
	return step{name: p.name, title: p.title, inputs: inputs, make: func(ctx context.Context, scratch, out string) error {
		return p.build(ctx, scratch, source, out)
	}}, nil
}

func (p goProgram) build(ctx context.Context, dir string, source []byte, out string) error {
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(p.gomod), 0o644); err != nil {
		return err
	}
	if source != nil {
		if err := os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644); err != nil {
			return err
		}
	}
	args := []string{"build", "-trimpath", "-ldflags", linkerFlags(p.variables), "-o", out}
	if p.tags != "" {
		args = append(args, "-tags", p.tags)
	}
	_, err := goCommand(ctx, dir, append(args, p.pkg)...)
	return err
}

// linkerFlags strips the program and sets its variables.
func linkerFlags(variables []string) string {
	flags := []string{"-s", "-w"}
	for _, v := range variables {
		flags = append(flags, "-X", v)
	}
	return strings.Join(flags, " ")
}

// goModFile is what `go mod edit -json` prints of a go.mod.
type goModFile struct {
	Go      string
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

func readGoMod(ctx context.Context, path string) (goModFile, error) {
	text, err := goCommand(ctx, os.TempDir(), "mod", "edit", "-json", path)
	if err != nil {
		return goModFile{}, fmt.Errorf("read %s: %w", path, err)
	}
	return parseGoMod([]byte(text))
}

func parseGoMod(text []byte) (goModFile, error) {
	var file goModFile
	if err := json.Unmarshal(text, &file); err != nil {
		return goModFile{}, fmt.Errorf("read the go.mod of Kubernetes: %w", err)
	}
	if file.Go == "" {
		return goModFile{}, fmt.Errorf("read the go.mod of Kubernetes: no go version in it")
	}
	return file, nil
}

// staging lists the modules that Kubernetes keeps in its own tree and publishes
// one by one: those that its go.mod replaces by a directory.
func (f goModFile) staging() []string {
	var modules []string
	for _, r := range f.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") && strings.HasPrefix(r.Old.Path, "k8s.io/") {
			modules = append(modules, r.Old.Path)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// requirement is the version that the file asks of a module, or "".
func (f goModFile) requirement(path string) string {
	for _, r := range f.Require {
		if r.Path == path {
			return r.Version
		}
	}
	return ""
}

// kubeGoMod is the go.mod of a module around Kubernetes. Kubernetes' own
// replacements are directories of its repository and hold only there, so each
// staging module is replaced by its published version.
func kubeGoMod(version string, kubernetes goModFile) string {
	var text strings.Builder
	fmt.Fprintf(&text, "module kube\n\ngo %s\n\nrequire (\n", kubernetes.Go)
	fmt.Fprintf(&text, "\tgithub.com/spf13/cobra %s\n", kubernetes.requirement("github.com/spf13/cobra"))
	fmt.Fprintf(&text, "\tk8s.io/kubernetes v%s\n", version)
	for _, m := range []string{"k8s.io/component-base", "k8s.io/kubectl"} {
		fmt.Fprintf(&text, "\t%s %s\n", m, stagingVersion(version))
	}
	text.WriteString(")\n\nreplace (\n")
	for _, m := range kubernetes.staging() {
		fmt.Fprintf(&text, "\t%s => %s %s\n", m, m, stagingVersion(version))
	}
	text.WriteString(")\n")
	return text.String()
}

// versionVariables are what a Kubernetes program reports as its version; kubeadm
// refuses to work with programs that do not know theirs.
func versionVariables(version string) []string {
	var list []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		list = append(list, pkg+".gitVersion=v"+version, pkg+".gitMajor=1", pkg+".gitMinor="+minorOf(version),
			pkg+".gitTreeState=clean", pkg+".gitCommit=source", pkg+".buildDate=1970-01-01T00:00:00Z")
	}
	return list
}
