package cni

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestConflist(t *testing.T) {
	t.Parallel()
	for name, tuning := range map[string]bool{"plain": false, "tuning": true} {
		got, err := conflist(netip.MustParsePrefix("198.18.129.0/24"), tuning)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".conflist")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatalf("%v; go test ./clusters/cni -update writes it", err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got; -update accepts it):\n%s", name, diff)
		}
	}
}

func TestPodCIDR(t *testing.T) {
	t.Parallel()
	seen := map[netip.Prefix]bool{}
	for node := range MaxNodes {
		prefix, err := PodCIDR(node)
		if err != nil || prefix.Bits() != 24 || !Pods().Contains(prefix.Addr()) || seen[prefix] {
			t.Errorf("PodCIDR(%d) = %s, %v", node, prefix, err)
		}
		seen[prefix] = true
	}
	if first, _ := PodCIDR(1); first.String() != "198.18.129.0/24" {
		t.Errorf("the first worker has %s", first)
	}
	for _, node := range []int{-1, MaxNodes} {
		if prefix, err := PodCIDR(node); err == nil {
			t.Errorf("PodCIDR(%d) = %s, want an error", node, prefix)
		}
	}
	if Pods().Overlaps(Services()) || !Services().Contains(DNS()) {
		t.Error("the address ranges do not fit together")
	}
}

func TestExistsInFollowsLinksInsideTheRoot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "usr/lib/cni"), 0o755))
	must(os.MkdirAll(filepath.Join(root, "opt/cni"), 0o755))
	must(os.Symlink("/usr/lib/cni", filepath.Join(root, "opt/cni/bin")))
	must(os.WriteFile(filepath.Join(root, "usr/lib/cni/ptp"), nil, 0o755))
	must(os.Symlink("/etc/hostname", filepath.Join(root, "escape")))
	for path, want := range map[string]bool{"opt/cni/bin/ptp": true, "opt/cni/bin/tuning": false, "escape": false} {
		if got, err := existsIn(root, path); got != want || err != nil {
			t.Errorf("existsIn(%s) = %v, %v, want %v", path, got, err, want)
		}
	}
	if _, err := existsIn(filepath.Join(root, "none"), "x"); err == nil {
		t.Error("a root that is not there is no error")
	}
}
