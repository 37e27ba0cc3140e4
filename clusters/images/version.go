package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"

	"secondhop/internal/command"
	"secondhop/internal/failure"
)

// DefaultKubernetes is the version that the lab uses unless told otherwise: its
// minor is the newest whose kubelet still starts on cgroup v1 as it is.
const DefaultKubernetes = "1.34.4"

var versionPattern = regexp.MustCompile(`^v?(1\.([0-9]{1,3})\.[0-9]{1,3}(?:-(?:alpha|beta|rc)\.[0-9]{1,3})?)$`)

// ParseVersion reads a Kubernetes version, with or without the leading "v", and
// returns it without.
func ParseVersion(text string) (string, error) {
	match := versionPattern.FindStringSubmatch(text)
	if match == nil {
		return "", failure.Inputf("Kubernetes version %q: write it like %s", text, DefaultKubernetes)
	}
	return match[1], nil
}

// minorOf is "34" of "1.34.4".
func minorOf(version string) string { return strings.Split(version, ".")[1] }

// stagingVersion is the version of the modules k8s.io/api and so on that belong
// to a Kubernetes version: 0.34.4 to 1.34.4.
func stagingVersion(version string) string { return "v0" + strings.TrimPrefix(version, "1") }

// module is what the go command says of a downloaded module.
type module struct {
	Version string
	Dir     string
	GoMod   string
	Error   string
}

// downloadModule brings a module's source into the module cache.
func downloadModule(ctx context.Context, path, version string) (module, error) {
	var m module
	text, err := goCommand(ctx, os.TempDir(), "mod", "download", "-json", path+"@"+version)
	// The go command reports an unknown version both ways; its text is the better one.
	if parsed := json.Unmarshal([]byte(text), &m); parsed == nil && m.Error != "" {
		err = errors.New(m.Error)
	}
	if err != nil {
		return m, fmt.Errorf("download %s %s: %w", path, version, err)
	}
	return m, nil
}

// downloadKubernetes is downloadModule for Kubernetes itself: of a version that
// does not exist, the error says which ones of its minor do.
func downloadKubernetes(ctx context.Context, version string) (module, error) {
	m, err := downloadModule(ctx, "k8s.io/kubernetes", "v"+version)
	if err == nil || ctx.Err() != nil {
		return m, err
	}
	known, listing := goCommand(ctx, os.TempDir(), "list", "-m", "-versions", "k8s.io/kubernetes")
	if listing != nil {
		return m, failure.Infra(err, "check that the Go module proxy can be reached: go env GOPROXY")
	}
	exist := versionsOfMinor(known, minorOf(version))
	if len(exist) == 0 {
		return m, failure.Input(fmt.Errorf("there is no Kubernetes %s, nor any 1.%s", version, minorOf(version)),
			"use --kubernetes "+DefaultKubernetes)
	}
	for _, v := range exist {
		if v == version {
			return m, err
		}
	}
	return m, failure.Input(fmt.Errorf("there is no Kubernetes %s", version), "use one of "+strings.Join(exist, ", "))
}

// versionsOfMinor picks the versions of one minor from the go command's list.
func versionsOfMinor(list, minor string) []string {
	var found []string
	for _, word := range strings.Fields(list) {
		if v, ok := strings.CutPrefix(word, "v"); ok && strings.HasPrefix(v, "1."+minor+".") {
			found = append(found, v)
		}
	}
	return found
}

// goCommand runs the go command in dir, outside any workspace and without the
// caller's flags, which could change what is built.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	argv := []string{"env", "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false", "CGO_ENABLED=0", "go", args[0], "-C", dir}
	return command.Run(ctx, append(argv, args[1:]...)...)
}

// goArch is the processor that everything is built for: the one it runs on.
func goArch() string { return runtime.GOARCH }
