package kubeadm

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMakeGroupsFillsWhatIsMissing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"memory/kubelet", "hugetlb", "unified", "cpu"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("cpu", filepath.Join(root, "cpu,cpuacct")); err != nil {
		t.Fatal(err)
	}
	if err := makeGroups(root); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"memory/kubelet", "memory/kubelet.slice", "hugetlb/kubelet", "hugetlb/kubelet.slice", "cpu/kubelet.slice"} {
		if _, err := os.Stat(filepath.Join(root, want)); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(root, "unified")); err != nil || len(entries) > 0 {
		t.Errorf("unified has %v, %v", entries, err)
	}
}
