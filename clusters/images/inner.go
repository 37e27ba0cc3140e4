package images

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// kubeRegistry is the prefix of the images that kubeadm looks for.
const kubeRegistry = "registry.k8s.io/"

// searchPath is where programs are in our images and in Debian.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// controlPrograms are the programs of the multi-call binary that run from images.
func controlPrograms() []string {
	return []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}
}

// nodePrograms are those that run on the node itself.
func nodePrograms() []string { return []string{"kubelet", "kubeadm", "kubectl"} }

// innerRecipe counts changes of the code below that change its result.
const innerRecipe = "1"

// innerStep makes the images that run inside a node, as kubeadm names them, in
// one docker-archive. All four images of Kubernetes are one layer with one
// program, and kube-proxy has its tools in a second.
func innerStep(st store, version string, parts components, rootfs step, built map[string]step) step {
	s := step{name: "inner", title: "images inside the node", inputs: []string{innerRecipe, version, parts.Etcd, parts.CoreDNS, parts.Pause, rootfs.key()}}
	for _, name := range []string{"kube", "etcd", "coredns", "pause"} {
		s.inputs = append(s.inputs, built[name].key())
	}
	s.make = func(_ context.Context, scratch, out string) error {
		layer := func(name string) string { return filepath.Join(scratch, name+".tar") }
		err := errors.Join(
			kubeLayer(layer("kube"), st.path(built["kube"])),
			proxyTools(layer("tools"), st.path(rootfs)),
			programLayer(layer("etcd"), st.path(built["etcd"]), "usr/local/bin/etcd"),
			programLayer(layer("coredns"), st.path(built["coredns"]), "coredns"),
			programLayer(layer("pause"), st.path(built["pause"]), "pause"),
		)
		if err != nil {
			return err
		}
		return writeArchive(out, innerImages(version, parts, layer))
	}
	return s
}

func innerImages(version string, parts components, layer func(string) string) []imageSpec {
	plain := v1.Config{Env: []string{searchPath}}
	entry := func(program string) v1.Config { return v1.Config{Env: plain.Env, Entrypoint: []string{program}} }
	specs := []imageSpec{
		{kubeRegistry + "etcd:" + parts.Etcd, plain, []string{layer("etcd")}},
		{kubeRegistry + "coredns/coredns:" + parts.CoreDNS, entry("/coredns"), []string{layer("coredns")}},
		{kubeRegistry + "pause:" + parts.Pause, entry("/pause"), []string{layer("pause")}},
	}
	for _, program := range controlPrograms() {
		layers := []string{layer("kube")}
		if program == "kube-proxy" {
			layers = append(layers, layer("tools"))
		}
		specs = append(specs, imageSpec{kubeRegistry + program + ":v" + version, plain, layers})
	}
	return specs
}

func writeArchive(path string, specs []imageSpec) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return writeImages(file, specs...)
}

func programLayer(path, program, name string) error {
	l, err := newLayer(path)
	if err != nil {
		return err
	}
	l.directory("tmp", 0o777|fs.ModeSticky)
	l.copyFile(name, program, 0o755)
	return l.Close()
}

func kubeLayer(path, program string) error {
	l, err := newLayer(path)
	if err != nil {
		return err
	}
	l.directory("tmp", 0o777|fs.ModeSticky)
	l.copyFile("usr/local/bin/kube", program, 0o755)
	for _, name := range controlPrograms() {
		l.link("usr/local/bin/"+name, "kube")
	}
	return l.Close()
}

// proxyTools is what kube-proxy runs: iptables (its nftables variant, Debian's
// default), nft and conntrack, with their libraries and extensions.
func proxyTools(path, rootfs string) error {
	archive, err := openArchive(rootfs)
	if err != nil {
		return err
	}
	defer archive.Close()
	const multi = "usr/sbin/xtables-nft-multi"
	var extensions []string
	for name := range archive.entries {
		if strings.HasPrefix(name, libraryDirs()[0]+"/xtables/") && strings.HasSuffix(name, ".so") {
			extensions = append(extensions, name)
		}
	}
	files, err := archive.closure(append(extensions, multi, "usr/sbin/nft", "usr/sbin/conntrack")...)
	if err != nil {
		return err
	}
	l, err := newLayer(path)
	if err != nil {
		return err
	}
	l.copyFrom(archive, files...)
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			l.link("usr/sbin/"+family+suffix, filepath.Base(multi))
		}
	}
	l.directory("run", 0o755)
	return l.Close()
}
