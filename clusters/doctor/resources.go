package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"secondhop/internal/units"
)

// What the default lab, one control plane and four workers, needs to run well,
// and what a first build of its images writes.
const (
	labMemory  = 4 * units.Gibibyte
	labDisk    = 4 * units.Gibibyte
	buildDisk  = 12 * units.Gibibyte
	labThreads = 2
)

func (m *machine) memoryCheck() Check {
	return Check{Name: "memory and CPUs", Look: func(context.Context) Finding {
		text, err := m.read("/proc/meminfo")
		if err != nil {
			return Finding{Problem: err.Error(), Cure: "a Linux machine"}
		}
		free, err := availableMemory(text)
		if err != nil {
			return Finding{Problem: err.Error(), Cure: "a newer kernel"}
		}
		detail := fmt.Sprintf("%s available, %d CPUs", free, runtime.NumCPU())
		switch {
		case free < labMemory:
			return Finding{Problem: fmt.Sprintf("%s available, and a lab of 5 nodes needs %s", free, labMemory), Cure: "stop other programs, or use fewer --workers"}
		case runtime.NumCPU() < labThreads:
			return Finding{Problem: detail + ": a lab of 5 nodes needs 2 CPUs", Cure: "use fewer --workers and lower rates", Optional: true}
		}
		return Finding{Detail: detail}
	}}
}

// availableMemory reads the kernel's estimate of what programs can still get.
func availableMemory(meminfo string) (units.Bytes, error) {
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "MemAvailable:" {
			continue
		}
		kib, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil || kib < 0 || kib > 1<<50 {
			return 0, fmt.Errorf("read available memory: %q is not an amount", words[1])
		}
		return units.Bytes(kib) * units.Kibibyte, nil
	}
	return 0, errors.New("read available memory: the kernel does not tell it")
}

func (m *machine) diskCheck() Check {
	return Check{Name: "disk", Look: func(ctx context.Context) Finding {
		dirs := map[string]string{"temporary files": os.TempDir()}
		if root, err := m.run(ctx, "docker", "info", "--format", "{{.DockerRootDir}}"); err == nil && strings.TrimSpace(root) != "" {
			dirs["the engine"] = strings.TrimSpace(root)
		}
		if cache, err := os.UserCacheDir(); err == nil {
			dirs["caches"] = cache
		}
		least, where := units.Bytes(-1), ""
		for what, dir := range dirs {
			if free, ok := m.freeSpace(dir); ok && (least < 0 || free < least) {
				least, where = free, fmt.Sprintf("for %s (%s)", what, dir)
			}
		}
		return judgeDisk(least, where)
	}}
}

func judgeDisk(free units.Bytes, where string) Finding {
	const cure = "docker system prune, go clean -cache, or a larger disk"
	switch text := fmt.Sprintf("%s free %s", free, where); {
	case free < 0:
		return Finding{Problem: "the free space is not known", Cure: "df", Optional: true}
	case free < labDisk:
		return Finding{Problem: fmt.Sprintf("%s, and a lab needs %s", text, labDisk), Cure: cure}
	case free < buildDisk:
		return Finding{Problem: fmt.Sprintf("%s: enough for a lab, but a first build of its images needs %s", text, buildDisk), Cure: cure, Optional: true}
	default:
		return Finding{Detail: text}
	}
}

// freeSpace is what can be written below dir or the nearest directory above it
// that exists.
func (m *machine) freeSpace(dir string) (units.Bytes, bool) {
	for dir = m.path(dir); ; dir = filepath.Dir(dir) {
		var stat syscall.Statfs_t
		if err := syscall.Statfs(dir, &stat); err == nil {
			return units.Bytes(stat.Bavail) * units.Bytes(stat.Bsize), true
		}
		if dir == filepath.Dir(dir) {
			return 0, false
		}
	}
}

func (m *machine) cgroupCheck() Check {
	return Check{Name: "cgroups", Look: func(context.Context) Finding {
		switch {
		case m.exists("/sys/fs/cgroup/cgroup.controllers"):
			return Finding{Detail: "version 2"}
		case m.exists("/sys/fs/cgroup/memory"):
			return Finding{Detail: "version 1: kubelets up to Kubernetes 1.34 start, newer ones refuse"}
		}
		return Finding{Problem: "no cgroup file system at /sys/fs/cgroup", Cure: "mount -t cgroup2 cgroup2 /sys/fs/cgroup"}
	}}
}

// slowClocks are clock sources that take microseconds to read, too long for
// latencies of this lab.
func slowClocks() []string { return []string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"} }

func (m *machine) clockCheck(now func() time.Time) Check {
	return Check{Name: "clock", Look: func(context.Context) Finding {
		// Certificates of a cluster are valid from now on; a machine that believes to
		// be in the past cannot use what a correct one has signed.
		if year := now().Year(); year < 2025 {
			return Finding{Problem: fmt.Sprintf("the date is wrong: the year is %d", year), Cure: "date -s with the right time, or an NTP client"}
		}
		source, err := m.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
		if err != nil {
			return Finding{Detail: now().UTC().Format(time.RFC3339) + ", clock source unknown"}
		}
		for _, slow := range slowClocks() {
			if source == slow {
				return Finding{Problem: "the clock source " + source + " is slow, so latencies are less exact",
					Cure: "boot with a better one, see available_clocksource beside current_clocksource in /sys", Optional: true}
			}
		}
		return Finding{Detail: now().UTC().Format(time.RFC3339) + ", clock source " + source}
	}}
}

// registryTime is how long the registry may take to answer.
const registryTime = 5 * time.Second

// registryCheck asks the registry of an image whether it is there. Either answer
// is fine: it only says where node images will come from.
func registryCheck(image string) Check {
	return Check{Name: "image registry", Look: func(ctx context.Context) Finding {
		ref, err := name.ParseReference(image)
		if err != nil {
			return Finding{Problem: err.Error(), Optional: true}
		}
		registry := ref.Context().Registry
		return lookRegistry(ctx, registry.Scheme()+"://"+registry.RegistryStr()+"/v2/")
	}}
}

func lookRegistry(ctx context.Context, url string) Finding {
	ctx, cancel := context.WithTimeout(ctx, registryTime)
	defer cancel()
	const absent = "not reachable: node images are assembled from source"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Finding{Detail: absent}
	}
	// Any answer will do, a demand for a login as well.
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return Finding{Detail: absent}
	}
	_ = answer.Body.Close()
	if answer.StatusCode >= http.StatusInternalServerError {
		return Finding{Detail: fmt.Sprintf("answers %s: node images are assembled from source if no pull succeeds", answer.Status)}
	}
	return Finding{Detail: "reachable: node images are pulled"}
}
