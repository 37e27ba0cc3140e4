package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"secondhop/internal/command"
	"secondhop/internal/failure"
)

// suite is the Debian release of a node: its systemd is the last that boots on
// cgroup v1, and its HAProxy is the 3.0 that the edge is made for.
const suite = "trixie"

// rootfsPackages are what a node needs beyond Debian's minimal set: what kind's
// own image installs, a container runtime, and the programs of the data path.
func rootfsPackages() []string {
	return []string{
		"systemd", "systemd-sysv", "dbus", "kmod", "procps", "util-linux", "mount", "hostname", "rsync",
		"iproute2", "iptables", "nftables", "conntrack", "ethtool", "socat", "ca-certificates", "curl", "jq",
		"containerd", "runc", "libseccomp2", "containernetworking-plugins", "haproxy",
	}
}

// rootfsRecipe counts changes of the code below that change its result.
const rootfsRecipe = "1"

// rootfsStep makes a node's root file system as a tar, from Debian packages.
// Which mirror they come from makes no difference, so it is no input.
func rootfsStep() step {
	packages := rootfsPackages()
	inputs := append([]string{rootfsRecipe, suite, goArch()}, packages...)
	return step{name: "rootfs", title: "root file system (Debian " + suite + ")", inputs: inputs,
		make: func(ctx context.Context, scratch, out string) error {
			if err := needProgramsAndRoot("debootstrap", "unshare"); err != nil {
				return err
			}
			source, err := hostSource("")
			if err != nil {
				return err
			}
			root := filepath.Join(scratch, "root")
			if err := debootstrap(ctx, source, packages, root); err != nil {
				return err
			}
			return archiveTree(root, out, keepInRootfs)
		}}
}

// debootstrap unpacks and configures the packages. It mounts file systems on
// the way and does not always unmount them, so it gets a mount namespace of its
// own, which ends with it.
func debootstrap(ctx context.Context, source aptSource, packages []string, root string) error {
	argv := []string{"env", "DEBIAN_FRONTEND=noninteractive"}
	if proxy := aptProxy(ctx); proxy != "" {
		argv = append(argv, "http_proxy="+proxy)
	}
	argv = append(argv, "unshare", "--mount", "--propagation", "private",
		"debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), "--keyring="+source.Keyring,
		suite, root, source.Mirror)
	if _, err := command.Run(ctx, argv...); err != nil {
		if log, readErr := os.ReadFile(filepath.Join(root, "debootstrap/debootstrap.log")); readErr == nil {
			err = fmt.Errorf("%w; its log ends: %s", err, lastLines(string(log), 3))
		}
		return err
	}
	return nil
}

// aptProxy is the proxy that apt uses for http, which debootstrap's own
// downloads know nothing of; "" for none.
func aptProxy(ctx context.Context) string {
	text, err := command.Run(ctx, "apt-config", "shell", "PROXY", "Acquire::http::Proxy")
	if err != nil {
		return ""
	}
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "PROXY="), "'")
}

// keepInRootfs leaves out what a node makes itself or never reads, and all
// links that start services: a node starts what kind enables and nothing else.
func keepInRootfs(name string, dir bool) bool {
	for _, prefix := range []string{"proc/", "sys/", "dev/", "run/", "tmp/", "debootstrap/", "var/cache/apt/", "var/lib/apt/lists/",
		"var/log/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	switch name {
	case "etc/machine-id", "etc/resolv.conf", "etc/hostname", "debootstrap":
		return false
	}
	if strings.HasPrefix(name, "usr/share/doc/") && !dir {
		return filepath.Base(name) == "copyright"
	}
	return !startsService(name)
}

// startsService matches the links that the Dockerfile of kind's base image
// deletes.
func startsService(name string) bool {
	dir, file := filepath.Split(name)
	wants := strings.HasSuffix(dir, ".wants/")
	system, etc := strings.HasPrefix(name, "usr/lib/systemd/system/"), strings.HasPrefix(name, "etc/systemd/system/")
	switch {
	case !wants || file == "":
		return false
	case etc:
		return true
	case !system:
		return false
	}
	switch filepath.Base(dir) {
	case "multi-user.target.wants", "local-fs.target.wants", "basic.target.wants":
		return true
	case "sockets.target.wants":
		return strings.Contains(file, "udev") || strings.Contains(file, "initctl")
	case "sysinit.target.wants":
		return file == "systemd-tmpfiles-setup.service"
	}
	return false
}

// needProgramsAndRoot says what is missing to assemble an image here.
func needProgramsAndRoot(programs ...string) error {
	if os.Geteuid() != 0 {
		return failure.Infra(errors.New("assembling an image needs root"), "run it as root, or where kindest/node can be pulled")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return failure.Infra(fmt.Errorf("assembling an image needs the program %s", p), "secondhop doctor --fix")
		}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}
