package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// program is something that the lab runs on the host.
type program struct {
	name string
	pkg  string // Debian's package that has it
	why  string
	// optional programs are installed with the rest, but the lab works without.
	optional bool
}

func programs() []program {
	return []program{
		{"ip", "iproute2", "looks at the lab's network", false},
		{"iptables", "iptables", "keeps the lab's network closed", false},
		{"nft", "nftables", "reads byte counters by kind", false},
		{"unshare", "util-linux", "isolates the assembly of images", false},
		{"tar", "tar", "unpacks file systems", false},
		{"debootstrap", "debootstrap", "assembles node images where none can be pulled", false},
		{"haproxy", "haproxy", "is under test in make test", false},
		{"gcc", "build-essential", "builds tests with the race detector", false},
		{"wrk", "wrk", "is compared with the load generator in make bench", true},
	}
}

func (m *machine) programChecks() []Check {
	var checks []Check
	for _, p := range programs() {
		checks = append(checks, Check{
			Name: p.name,
			Look: func(context.Context) Finding {
				path, err := m.look(p.name)
				if err != nil {
					return Finding{Problem: "not installed; it " + p.why, Cure: m.installCure(p.pkg), Optional: p.optional}
				}
				return Finding{Detail: path}
			},
			Fix: func(ctx context.Context) error { return m.install(ctx, p.pkg) },
		})
	}
	return checks
}

// goCheck looks for the Go tool chain, from which all images are built.
func (m *machine) goCheck() Check {
	return Check{Name: "go", Look: func(ctx context.Context) Finding {
		version, err := m.run(ctx, "go", "env", "GOVERSION")
		if err != nil {
			return Finding{Problem: "the Go tool chain is not on the PATH; programs and images are built with it",
				Cure: "install Go (see go.mod for the version) and put its bin directory on the PATH"}
		}
		return Finding{Detail: strings.TrimSpace(version)}
	}}
}

// isDebian says whether apt installs Debian's packages here.
func (m *machine) isDebian() bool {
	text, err := m.read("/etc/os-release")
	if err != nil {
		return false
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		words := strings.Fields(strings.Trim(value, `"'`))
		if (name == "ID" || name == "ID_LIKE") && (slices.Contains(words, "debian") || slices.Contains(words, "ubuntu")) {
			return true
		}
	}
	return false
}

func (m *machine) installCure(pkg string) string {
	if m.isDebian() {
		return "apt-get install -y " + pkg
	}
	return "install the equivalent of Debian's package " + pkg
}

// install installs packages with apt, having refreshed its lists once. A failed
// refresh counts only if the installation fails as well: one broken source among
// many is common, and the lists at hand may do.
func (m *machine) install(ctx context.Context, packages ...string) error {
	if !m.isDebian() {
		return errors.New("only Debian and its relatives can be repaired automatically")
	}
	if !m.isRoot() {
		return errNotRoot
	}
	var refresh error
	if !m.aptUpdated {
		if _, err := m.run(ctx, "apt-get", "-q", "update"); err != nil {
			refresh = fmt.Errorf("refresh apt's lists: %w", err)
		}
		m.aptUpdated = refresh == nil
	}
	for _, pkg := range packages {
		if status, err := m.run(ctx, "dpkg-query", "--show", "--showformat=${Status}", pkg); err == nil && status == "install ok installed" {
			continue
		}
		if err := m.record(func(c *changes) { c.Packages = append(c.Packages, pkg) }); err != nil {
			return err
		}
	}
	argv := []string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "install", "-y", "--no-install-recommends"}
	if _, err := m.run(ctx, append(argv, packages...)...); err != nil {
		return errors.Join(fmt.Errorf("install %s: %w", strings.Join(packages, " "), err), refresh)
	}
	return nil
}
