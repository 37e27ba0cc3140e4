package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// kindModule is the version of kind whose base files a node gets: the one that
// also runs the nodes.
const (
	kindModule  = "sigs.k8s.io/kind"
	kindVersion = "v0.33.0"
	kindFiles   = "images/base/files"
)

// nodeRecipe counts changes of the code below that change its result.
const nodeRecipe = "2"

// nodeStep makes the upper of a node image's two layers: kind's files, the
// programs of Kubernetes and containerd's store. The lower one is the root file
// system as it is.
func nodeStep(st store, version string, parts components, rootfs, kube, seed step) step {
	s := step{name: "node", title: "node image layer",
		inputs: []string{nodeRecipe, version, kindVersion, parts.Pause, rootfs.key(), kube.key(), seed.key()}}
	s.make = func(ctx context.Context, _, out string) error {
		kind, err := downloadModule(ctx, kindModule, kindVersion)
		if err != nil {
			return err
		}
		l, err := newLayer(out)
		if err != nil {
			return err
		}
		err = addKindFiles(l, filepath.Join(kind.Dir, kindFiles), parts.Pause)
		l.text("kind/version", "v"+version, 0o644)
		l.copyFile("usr/bin/kube", st.path(kube), 0o755)
		for _, name := range nodePrograms() {
			l.link("usr/bin/"+name, "kube")
		}
		addLinks(l)
		l.copyFile("etc/containerd/cri-base.json", filepath.Join(st.path(seed), seedSpec), 0o644)
		l.copyTree(filepath.Join(st.path(seed), seedStore))
		return errors.Join(err, l.Close())
	}
	return s
}

// addLinks puts Debian's programs where kind's units look for them and enables
// the services of a node, as kind's Dockerfile does.
func addLinks(l *layerWriter) {
	for _, name := range []string{"containerd", "ctr", "containerd-shim-runc-v2"} {
		l.link("usr/local/bin/"+name, "/usr/bin/"+name)
	}
	l.link("usr/local/sbin/runc", "/usr/sbin/runc")
	// Debian's containerd looks for CNI plug-ins where Debian puts them, everybody
	// else in /opt.
	l.link("opt/cni/bin", "/usr/lib/cni")
	l.directory("etc/cni/net.d", 0o755)
	l.directory("etc/kubernetes/manifests", 0o755)
	const units = "etc/systemd/system/"
	for _, unit := range []string{"kubelet", "containerd", "undo-mount-hacks"} {
		l.link(units+"multi-user.target.wants/"+unit+".service", "/"+units+unit+".service")
	}
	for _, unit := range []string{
		"systemd-binfmt", // would register binary formats with the kernel of the host
		// Both make caches anew that came with the packages, on every node at once,
		// while the nodes boot (5 to 10 s of two cores).
		"ldconfig", "systemd-journal-catalog-update",
	} {
		l.link(units+unit+".service", "/dev/null")
	}
	l.text("etc/systemd/journald.conf.d/secondhop.conf", "[Journal]\nReadKMsg=no\n", 0o644)
}

// addKindFiles copies kind's files with the modes that its Dockerfile gives them.
func addKindFiles(l *layerWriter, dir, pause string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(relative)
		if strings.HasPrefix(name, "LICENSES/") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		content := string(text)
		if name == "etc/containerd/config.toml" {
			if content, err = nodeContainerdConfig(content, pause); err != nil {
				return err
			}
		}
		mode := fs.FileMode(0o644)
		if parent := path.Dir(name); parent == "usr/local/bin" || parent == "kind/bin" {
			mode = 0o755
		}
		l.text(name, content, mode)
		return nil
	})
}

// nodeContainerdConfig adapts kind's containerd configuration: the pause image
// is the one that kubeadm asks for, and containers keep containerd's own OOM
// score where a lower one is not allowed.
func nodeContainerdConfig(text, pause string) (string, error) {
	var out strings.Builder
	changed := 0
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		setting, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch setting {
		case "sandbox_image":
			line = fmt.Sprintf("%ssandbox_image = %q\n", indent, kubeRegistry+"pause:"+pause)
			changed++
		case "restrict_oom_score_adj":
			line = indent + "restrict_oom_score_adj = true\n"
			changed++
		}
		out.WriteString(line)
	}
	if changed != 2 {
		return "", fmt.Errorf("adapt kind's containerd configuration: found %d of 2 settings", changed)
	}
	return out.String(), nil
}
