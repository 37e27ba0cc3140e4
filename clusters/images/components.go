package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// components are the versions of what surrounds Kubernetes on a node, as its
// kubeadm wants them.
type components struct {
	Etcd, CoreDNS, Pause string // image tags: "3.6.5-0", "v1.12.1", "3.10.1"
}

// kubeadmConstants is the file of Kubernetes that holds the versions.
const kubeadmConstants = "cmd/kubeadm/app/constants/constants.go"

func readComponents(kubernetesDir string) (components, error) {
	text, err := os.ReadFile(filepath.Join(kubernetesDir, kubeadmConstants))
	if err != nil {
		return components{}, fmt.Errorf("find what kubeadm wants: %w", err)
	}
	return parseComponents(string(text))
}

// parseComponents finds three constants in kubeadm's source.
func parseComponents(source string) (components, error) {
	var c components
	for name, field := range map[string]*string{"DefaultEtcdVersion": &c.Etcd, "CoreDNSVersion": &c.CoreDNS, "PauseVersion": &c.Pause} {
		match := regexp.MustCompile(`(?m)^\s*` + name + `\s*=\s*"([A-Za-z0-9][A-Za-z0-9._-]*)"\s*$`).FindStringSubmatch(source)
		if match == nil {
			return components{}, fmt.Errorf("find what kubeadm wants: no constant %s in %s", name, kubeadmConstants)
		}
		*field = match[1]
	}
	return c, nil
}

// etcdModule is the module version behind an etcd image tag: the part after the
// dash counts rebuilds of the image.
func (c components) etcdModule() string {
	version, _, _ := strings.Cut(c.Etcd, "-")
	return "v" + version
}

// programs are the four Go programs of a node image, in the order of building:
// the longest comes first, so that what fails late is short.
func programs(ctx context.Context, version string, kubernetes module) ([]goProgram, components, error) {
	parts, err := readComponents(kubernetes.Dir)
	if err != nil {
		return nil, parts, err
	}
	gomod, err := readGoMod(ctx, kubernetes.GoMod)
	if err != nil {
		return nil, parts, err
	}
	if len(gomod.staging()) == 0 {
		return nil, parts, fmt.Errorf("prepare Kubernetes %s: its go.mod names no staging modules", version)
	}
	simple := func(name, module, version string) string {
		return fmt.Sprintf("module %s\n\ngo %s\n\nrequire %s %s\n", name, gomod.Go, module, version)
	}
	const etcd, coredns = "go.etcd.io/etcd/server/v3", "github.com/coredns/coredns"
	return []goProgram{
		{name: "kube", title: "Kubernetes " + version + " programs", source: "kube.go.txt", pkg: ".", tags: "selinux",
			gomod: kubeGoMod(version, gomod), variables: versionVariables(version)},
		{name: "coredns", title: "CoreDNS " + parts.CoreDNS, source: "coredns.go.txt", pkg: ".",
			gomod: simple("coredns", coredns, parts.CoreDNS)},
		{name: "etcd", title: "etcd " + parts.etcdModule(), pkg: etcd, gomod: simple("etcd", etcd, parts.etcdModule())},
		{name: "pause", title: "pause", source: "pause.go.txt", pkg: ".", gomod: "module pause\n\ngo " + gomod.Go + "\n"},
	}, parts, nil
}
