package images

import (
	"slices"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1.34.4": "1.34.4", "v1.35.0": "1.35.0", "1.36.0-rc.1": "1.36.0-rc.1"} {
		if got, err := ParseVersion(text); got != want || err != nil {
			t.Errorf("ParseVersion(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1.34", "latest", "2.0.0", "1.34.4.1", "1.34.4-foo", "vv1.34.4", "1.34.4 "} {
		if got, err := ParseVersion(text); err == nil || !strings.Contains(err.Error(), DefaultKubernetes) {
			t.Errorf("ParseVersion(%q) = %q, %v, want an error with an example", text, got, err)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("v1.34.4")
	f.Add("1.36.0-rc.1")
	f.Fuzz(func(t *testing.T, text string) {
		version, err := ParseVersion(text)
		if err != nil {
			return
		}
		if again, err := ParseVersion(version); again != version || err != nil {
			t.Errorf("%q parsed to %q, which parses to %q, %v", text, version, again, err)
		}
		if minorOf(version) == "" || !strings.HasPrefix(stagingVersion(version), "v0.") {
			t.Errorf("%q has minor %q and staging version %q", version, minorOf(version), stagingVersion(version))
		}
	})
}

func TestVersionsOfMinor(t *testing.T) {
	t.Parallel()
	const list = "k8s.io/kubernetes v1.3.1 v1.34.0 v1.34.2 v1.35.0-rc.0 v1.341.0"
	if got, want := versionsOfMinor(list, "34"), []string{"1.34.0", "1.34.2"}; !slices.Equal(got, want) {
		t.Errorf("versionsOfMinor = %v, want %v", got, want)
	}
}
