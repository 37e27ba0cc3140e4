package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseSources(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		deb822     bool
		want       aptSource
	}{
		{"one line", "# deb http://old.example/debian bookworm main\ndeb http://deb.example/debian/ bookworm main contrib\n", false, aptSource{"http://deb.example/debian", debianKeyring}},
		{"options", "deb [arch=amd64 signed-by=/k.gpg] https://deb.example/debian bookworm main", false, aptSource{"https://deb.example/debian", "/k.gpg"}},
		{"other suite, source and transport first", "deb http://a.example/ bookworm-security main\ndeb-src http://b.example/ bookworm main\ndeb cdrom:[x]/ bookworm main\ndeb http://c.example/d bookworm main", false, aptSource{"http://c.example/d", debianKeyring}},
		{"stanzas", "Types: deb\n# a comment\nURIs: http://deb.example/debian\nSuites: bookworm\n bookworm-updates\nComponents: main\nSigned-By: /usr/share/keyrings/k.gpg\n", true, aptSource{"http://deb.example/debian", "/usr/share/keyrings/k.gpg"}},
		{"disabled stanza", "Types: deb\nEnabled: no\nURIs: http://x.example\nSuites: bookworm\nComponents: main\n\nTypes: deb deb-src\nURIs: http://y.example\nSuites: bookworm\nComponents: main\n", true, aptSource{"http://y.example", debianKeyring}},
		{"nothing", "deb http://deb.example/debian trixie main", false, aptSource{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := parseSources(tc.text, tc.deb822, "bookworm")
			if got != tc.want || ok != (tc.want != aptSource{}) {
				t.Errorf("parseSources = %+v, %v, want %+v", got, ok, tc.want)
			}
		})
	}
}

func FuzzParseSources(f *testing.F) {
	f.Add("deb [signed-by=/k] http://deb.example/debian bookworm main", false)
	f.Add("Types: deb\nURIs: http://deb.example\nSuites: bookworm\nComponents: main\n", true)
	f.Fuzz(func(t *testing.T, text string, deb822 bool) {
		got, ok := parseSources(text, deb822, "bookworm")
		if ok && (!strings.HasPrefix(got.Mirror, "http") || !strings.HasPrefix(got.Keyring, "/")) {
			t.Errorf("parseSources(%q) = %+v", text, got)
		}
	})
}

func TestHostSource(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := hostSource(root); err == nil {
		t.Error("no error without os-release")
	}
	write("etc/os-release", "ID=debian\nVERSION_CODENAME=bookworm\n")
	if _, err := hostSource(root); err == nil || !strings.Contains(err.Error(), "bookworm") {
		t.Errorf("without sources: %v", err)
	}
	write("etc/apt/sources.list.d/other.list", "deb http://other.example/x stable main\n")
	write("etc/apt/sources.list.d/debian.sources", "Types: deb\nURIs: http://deb.example/debian\nSuites: bookworm\nComponents: main\n")
	got, err := hostSource(root)
	if want := (aptSource{"http://deb.example/debian", debianKeyring}); got != want || err != nil {
		t.Errorf("hostSource = %+v, %v, want %+v", got, err, want)
	}
	write("etc/os-release", "ID=fedora\n")
	if _, err := hostSource(root); err == nil || !strings.Contains(err.Error(), "Debian") {
		t.Errorf("on another system: %v", err)
	}
}

func TestKeepInRootfs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"usr/bin/containerd":                         true,
		"usr/share/doc/haproxy/copyright":            true,
		"usr/share/doc/haproxy/README":               false,
		"usr/share/man/man1/ls.1.gz":                 false,
		"var/cache/apt/archives/x.deb":               false,
		"proc":                                       true,
		"proc/1":                                     false,
		"etc/machine-id":                             false,
		"etc/systemd/system/multi-user.target.wants": true,
		"etc/systemd/system/multi-user.target.wants/haproxy.service":                 false,
		"usr/lib/systemd/system/multi-user.target.wants/dbus.service":                false,
		"usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service": false,
		"usr/lib/systemd/system/sysinit.target.wants/dev-mqueue.mount":               true,
		"usr/lib/systemd/system/sockets.target.wants/systemd-udevd-kernel.socket":    false,
		"usr/lib/systemd/system/sockets.target.wants/dbus.socket":                    true,
		"usr/lib/systemd/system/haproxy.service":                                     true,
	} {
		dir := strings.HasSuffix(name, ".wants") || name == "proc"
		if got := keepInRootfs(name, dir); got != want {
			t.Errorf("keepInRootfs(%q) = %v, want %v", name, got, want)
		}
	}
}
