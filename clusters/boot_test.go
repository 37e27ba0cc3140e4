package clusters

import (
	"slices"
	"strings"
	"testing"

	"secondhop/clusters/cni"
)

func TestCgroupMounts(t *testing.T) {
	t.Parallel()
	const mountinfo = `10 9 0:1 / / rw - overlay overlay rw
11 10 0:30 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
12 11 0:31 /docker/1 /sys/fs/cgroup/pids rw master:5 - cgroup cgroup rw,pids
13 12 0:31 /docker/1/kubelet /sys/fs/cgroup/pids/kubelet rw - cgroup cgroup rw,pids
14 11 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
15 11 0:33 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb
`
	if got, want := cgroupMounts(mountinfo), []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup/hugetlb"}; !slices.Equal(got, want) {
		t.Errorf("cgroupMounts = %v, want %v", got, want)
	}
}

func FuzzCgroupMounts(f *testing.F) {
	f.Add("12 11 0:31 /docker/1 /sys/fs/cgroup/pids rw master:5 - cgroup cgroup rw,pids\n")
	f.Fuzz(func(t *testing.T, mountinfo string) {
		for _, mount := range cgroupMounts(mountinfo) {
			if !strings.HasPrefix(mount, "/sys/fs/cgroup/") {
				t.Errorf("%q is no place for a hierarchy", mount)
			}
		}
	})
}

func TestBootedNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	// A process id that cannot exist has no root directory to look into.
	err := booted(cni.Node{Name: "lab-worker", Pid: 1 << 30})
	if err == nil || !strings.Contains(err.Error(), "lab-worker has no /run/systemd/private yet") {
		t.Errorf("error = %v", err)
	}
}
