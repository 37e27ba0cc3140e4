package images

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kubernetesGoMod = `{"Module":{"Path":"k8s.io/kubernetes"},"Go":"1.24.0",
"Require":[{"Path":"github.com/spf13/cobra","Version":"v1.9.1"},{"Path":"k8s.io/api","Version":"v0.0.0"}],
"Replace":[{"Old":{"Path":"k8s.io/kubectl"},"New":{"Path":"./staging/src/k8s.io/kubectl"}},
{"Old":{"Path":"k8s.io/api"},"New":{"Path":"./staging/src/k8s.io/api"}},
{"Old":{"Path":"example.org/fork"},"New":{"Path":"example.org/fixed","Version":"v1.0.0"}}]}`

func TestKubeGoModReplacesStagingModules(t *testing.T) {
	t.Parallel()
	file, err := parseGoMod([]byte(kubernetesGoMod))
	if err != nil {
		t.Fatal(err)
	}
	want := `module kube

go 1.24.0

require (
	github.com/spf13/cobra v1.9.1
	k8s.io/kubernetes v1.34.4
	k8s.io/component-base v0.34.4
	k8s.io/kubectl v0.34.4
)

replace (
	k8s.io/api => k8s.io/api v0.34.4
	k8s.io/kubectl => k8s.io/kubectl v0.34.4
)
`
	if diff := cmp.Diff(want, kubeGoMod("1.34.4", file)); diff != "" {
		t.Errorf("go.mod (-want +got):\n%s", diff)
	}
}

func FuzzParseGoMod(f *testing.F) {
	f.Add([]byte(kubernetesGoMod))
	f.Add([]byte(`{"Go":"1.24.0","Replace":[{"Old":{"Path":"k8s.io/"},"New":{"Path":"./staging/"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := parseGoMod(text)
		if err != nil {
			return
		}
		previous := ""
		for _, m := range file.staging() {
			if !strings.HasPrefix(m, "k8s.io/") || m <= previous && previous != "" {
				t.Errorf("staging modules of %q: %q after %q", text, m, previous)
			}
			previous = m
		}
	})
}

func TestVersionVariablesNameEveryFact(t *testing.T) {
	t.Parallel()
	flags := linkerFlags(versionVariables("1.35.2"))
	for _, want := range []string{"-s -w ", "-X k8s.io/component-base/version.gitVersion=v1.35.2", "-X k8s.io/client-go/pkg/version.gitMinor=35"} {
		if !strings.Contains(flags, want) {
			t.Errorf("flags %q lack %q", flags, want)
		}
	}
}

// The embedded sources are compiled by nobody until an image is assembled; that
// they are there under the names in use is checked here.
func TestProgramsHaveTheirSources(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kube.go.txt", "coredns.go.txt", "pause.go.txt"} {
		s, err := goProgram{name: "x", source: name, pkg: ".", gomod: "module x\n"}.step("go1.26")
		if err != nil || s.make == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (goProgram{source: "absent.go.txt"}).step("go1.26"); err == nil {
		t.Error("no error for a source that is not there")
	}
}

func TestParseComponents(t *testing.T) {
	t.Parallel()
	const source = `
	// DefaultEtcdVersion indicates the default etcd version
	DefaultEtcdVersion = "3.6.5-0"
	CoreDNSVersion = "v1.12.1"
	PauseVersion   = "3.10.1"
`
	got, err := parseComponents(source)
	if want := (components{Etcd: "3.6.5-0", CoreDNS: "v1.12.1", Pause: "3.10.1"}); got != want || err != nil {
		t.Errorf("parseComponents = %+v, %v, want %+v", got, err, want)
	}
	if got := got.etcdModule(); got != "v3.6.5" {
		t.Errorf("etcd module = %q", got)
	}
	if _, err := parseComponents(strings.Replace(source, "PauseVersion", "Other", 1)); err == nil || !strings.Contains(err.Error(), "PauseVersion") {
		t.Errorf("error without a pause version = %v", err)
	}
}

func FuzzParseComponents(f *testing.F) {
	f.Add("DefaultEtcdVersion = \"3.6.5-0\"\nCoreDNSVersion = \"v1.12.1\"\nPauseVersion = \"3.10.1\"\n")
	tag := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	f.Fuzz(func(t *testing.T, source string) {
		c, err := parseComponents(source)
		if err != nil {
			return
		}
		for _, part := range []string{c.Etcd, c.CoreDNS, c.Pause} {
			if !tag.MatchString(part) {
				t.Errorf("%q gave %q, which cannot be an image tag", source, part)
			}
		}
	})
}
