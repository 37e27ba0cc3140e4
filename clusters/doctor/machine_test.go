package doctor

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"secondhop/internal/units"
)

// bench is a machine made of a directory and of programs that are only recorded.
type bench struct {
	*machine
	ran []string
	// answers has the output of commands by their beginning; others succeed
	// silently. failing has those that fail.
	answers map[string]string
	failing map[string]error
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{answers: map[string]string{}, failing: map[string]error{}}
	b.machine = &machine{root: t.TempDir(), look: lookPath, run: func(_ context.Context, argv ...string) (string, error) {
		line := strings.Join(argv, " ")
		b.ran = append(b.ran, line)
		for beginning, err := range b.failing {
			if strings.HasPrefix(line, beginning) {
				return "", err
			}
		}
		for beginning, answer := range b.answers {
			if strings.HasPrefix(line, beginning) {
				return answer, nil
			}
		}
		return "", nil
	}}
	for name, text := range files {
		if err := b.replace(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

const (
	instances = "/proc/sys/fs/inotify/max_user_instances"
	watches   = "/proc/sys/fs/inotify/max_user_watches"
)

func TestInotifyLimitsAreRaisedRememberedAndPutBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{instances: "128\n", watches: "1000000\n"})
	check := b.inotifyCheck()
	found := check.Look(t.Context())
	if want := "sysctl -w fs.inotify.max_user_instances=8192"; found.Cure != want || !strings.Contains(found.Problem, "128") {
		t.Fatalf("finding = %+v, want cure %q", found, want)
	}
	for range 2 { // the second repair must not take the raised value for the former one
		if err := check.Fix(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if found := check.Look(t.Context()); found.Problem != "" {
		t.Errorf("after the repair: %+v", found)
	}
	var out bytes.Buffer
	if err := b.undo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if value, _ := b.read(instances); value != "128" {
		t.Errorf("after undo it is %q; %s", value, out.String())
	}
	if value, _ := b.read(watches); value != "1000000" {
		t.Errorf("a value that was fine became %q", value)
	}
	out.Reset()
	if err := b.undo(t.Context(), &out); err != nil || !strings.HasPrefix(out.String(), "nothing to undo") {
		t.Errorf("a second undo: %q, %v", out.String(), err)
	}
}

func TestRepairsNeedRoot(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{instances: "128", watches: "1", "/etc/os-release": "ID=debian\n"})
	b.euid = 1000
	for name, err := range map[string]error{
		"inotify": b.inotifyCheck().Fix(t.Context()), "install": b.install(t.Context(), "wrk"),
		"engine": b.fixEngine(t.Context()), "wrapper": b.installWrapper(t.Context()), "kernel": b.kernelChecks()[0].Fix(t.Context()),
	} {
		if !errors.Is(err, errNotRoot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(b.ran) != 0 {
		t.Errorf("ran %q", b.ran)
	}
}

func TestInstallRefreshesOnceAndRemembers(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"/etc/os-release": "ID=ubuntu\nID_LIKE=\"debian\"\n"})
	b.answers["dpkg-query --show --showformat=${Status} iptables"] = "install ok installed"
	for _, packages := range [][]string{{"wrk"}, {"haproxy", "iptables"}, {"wrk"}} {
		if err := b.install(t.Context(), packages...); err != nil {
			t.Fatal(err)
		}
	}
	apt := slices.DeleteFunc(b.ran, func(line string) bool { return strings.HasPrefix(line, "dpkg-query") })
	if n := slices.Index(apt, "apt-get -q update"); n != 0 || len(apt) != 4 {
		t.Errorf("ran %q", apt)
	}
	if done, err := b.loadChanges(); err != nil || !slices.Equal(done.Packages, []string{"haproxy", "wrk"}) {
		t.Errorf("remembered %v, %v", done.Packages, err)
	}
	b.aptUpdated, b.failing["apt-get -q update"] = false, errors.New("one source is broken")
	if err := b.install(t.Context(), "wrk"); err != nil {
		t.Errorf("with a broken source that is not needed: %v", err)
	}
	b.failing["env DEBIAN_FRONTEND"] = errors.New("no such package")
	if err := b.install(t.Context(), "wrk"); err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), "no such") {
		t.Errorf("with a broken source that is: %v", err)
	}
	other := newBench(t, map[string]string{"/etc/os-release": "ID=fedora\n"})
	if err := other.install(t.Context(), "wrk"); err == nil || len(other.ran) != 0 {
		t.Errorf("on another system: %v, ran %q", err, other.ran)
	}
}

func TestProgramChecksNameTheirPackage(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"/etc/os-release": "ID=debian\n"})
	b.look = func(program string) (string, error) {
		if program == "debootstrap" {
			return "", os.ErrNotExist
		}
		return "/bin/" + program, nil
	}
	for _, check := range b.programChecks() {
		found := check.Look(t.Context())
		if (check.Name == "debootstrap") != (found.Problem != "") {
			t.Errorf("%s: %+v", check.Name, found)
		}
		if check.Name == "debootstrap" && found.Cure != "apt-get install -y debootstrap" {
			t.Errorf("cure = %q", found.Cure)
		}
	}
}

func TestEngineFindings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, answer  string
		err           error
		problem, cure string
	}{
		{"answers", "20.10.24 overlay2 systemd\n", nil, "", ""},
		{"client only", "  \n", nil, "does not answer: no server", "service docker start"},
		{"down", "", errors.New("Cannot connect to the Docker daemon"), "does not answer: Cannot", "service docker start"},
		{"not allowed", "", errors.New("permission denied while trying to connect"), "may not be used", "group docker"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.look = func(string) (string, error) { return "/usr/bin/docker", nil }
			b.answers["docker info"] = tc.answer
			if tc.err != nil {
				b.failing["docker info"] = tc.err
			}
			found := b.lookEngine(t.Context())
			if !strings.Contains(found.Problem, tc.problem) || (tc.problem == "") != (found.Problem == "") || !strings.Contains(found.Cure, tc.cure) {
				t.Errorf("finding = %+v", found)
			}
		})
	}
}

func TestUndoKeepsTheWrapperThatContainersNeed(t *testing.T) {
	t.Parallel()
	config, err := addRuntime(nil, capdropPath)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, map[string]string{daemonJSONPath: string(config), capdropPath: "elf"})
	b.answers["docker ps"] = "1111\n2222\n"
	b.answers["docker inspect"] = "runc /other\nsecondhop /lab-worker\n"
	var out bytes.Buffer
	err = b.undo(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "lab-worker") || strings.Contains(err.Error(), "other") {
		t.Errorf("error = %v", err)
	}
	if !b.wrapperInstalled() || !b.exists(capdropPath) {
		t.Error("the wrapper is gone")
	}
}

func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	got, err := availableMemory("MemTotal: 100 kB\nMemAvailable:    2048 kB\n")
	if got != 2*units.Mebibyte || err != nil {
		t.Errorf("availableMemory = %v, %v", got, err)
	}
	for _, bad := range []string{"", "MemAvailable: x kB", "MemAvailable: -1 kB", "MemAvailable:"} {
		if got, err := availableMemory(bad); err == nil {
			t.Errorf("availableMemory(%q) = %v", bad, got)
		}
	}
}

func FuzzAvailableMemory(f *testing.F) {
	f.Add("MemAvailable:    2048 kB\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := availableMemory(text); err == nil && got < 0 {
			t.Errorf("availableMemory(%q) = %v", text, got)
		}
	})
}

func TestJudgeDisk(t *testing.T) {
	t.Parallel()
	for free, want := range map[units.Bytes]Status{-1: Limited, units.Gibibyte: Missing, 6 * units.Gibibyte: Limited, 60 * units.Gibibyte: OK} {
		if found := judgeDisk(free, "for caches"); statusOf(found) != want {
			t.Errorf("judgeDisk(%v) = %+v, want %s", free, found, want)
		}
	}
}

func TestCgroupAndClockFindings(t *testing.T) {
	t.Parallel()
	const source = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
	today := func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }
	past := func() time.Time { return time.Unix(0, 0) }
	for _, tc := range []struct {
		name  string
		files map[string]string
		check func(*machine) Check
		want  Status
		text  string
	}{
		{"version 2", map[string]string{"/sys/fs/cgroup/cgroup.controllers": "cpu"}, (*machine).cgroupCheck, OK, "version 2"},
		{"version 1", map[string]string{"/sys/fs/cgroup/memory/tasks": ""}, (*machine).cgroupCheck, OK, "version 1"},
		{"none", nil, (*machine).cgroupCheck, Missing, "mount"},
		{"good clock", map[string]string{source: "tsc"}, func(m *machine) Check { return m.clockCheck(today) }, OK, "tsc"},
		{"slow clock", map[string]string{source: "hpet"}, func(m *machine) Check { return m.clockCheck(today) }, Limited, "hpet"},
		{"wrong date", nil, func(m *machine) Check { return m.clockCheck(past) }, Missing, "1970"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			found := tc.check(newBench(t, tc.files).machine).Look(t.Context())
			if text := found.Problem + found.Detail + found.Cure; statusOf(found) != tc.want || !strings.Contains(text, tc.text) {
				t.Errorf("finding = %+v", found)
			}
		})
	}
}

func TestLookRegistry(t *testing.T) {
	t.Parallel()
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	if found := lookRegistry(t.Context(), server.URL+"/v2/"); !strings.HasPrefix(found.Detail, "reachable") {
		t.Errorf("a registry that wants a login: %+v", found)
	}
	status = http.StatusBadGateway
	if found := lookRegistry(t.Context(), server.URL+"/v2/"); !strings.HasPrefix(found.Detail, "answers 502") {
		t.Errorf("a broken proxy: %+v", found)
	}
	server.Close()
	start := time.Now()
	if found := lookRegistry(t.Context(), server.URL+"/v2/"); !strings.HasPrefix(found.Detail, "not reachable") || time.Since(start) > registryTime {
		t.Errorf("nobody there: %+v after %s", found, time.Since(start))
	}
}

func TestReplaceKeepsNoDraft(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, text := range []string{"one", "two"} {
		if err := b.replace("/etc/x/y", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(b.root, "etc/x"))
	text, _ := b.read("/etc/x/y")
	if err != nil || len(entries) != 1 || text != "two" {
		t.Errorf("%v holds %q, %v", entries, text, err)
	}
}

// An engine that cannot be told of the wrapper must not find it in its
// configuration when it starts the next time.
func TestAWrapperThatCannotBeRegisteredIsTakenBack(t *testing.T) {
	t.Parallel()
	const before = `{"mtu" :1400}`
	b := newBench(t, map[string]string{daemonJSONPath: before})
	b.look = func(program string) (string, error) { return "/usr/bin/" + program, nil }
	record := b.run
	b.run = func(ctx context.Context, argv ...string) (string, error) {
		if i := slices.Index(argv, "-o"); i >= 0 { // the compiler's part
			return "", os.WriteFile(argv[i+1], []byte("elf"), 0o755)
		}
		return record(ctx, argv...)
	}
	if err := b.fixPrivileged(t.Context()); err == nil || !strings.Contains(err.Error(), "find its process") {
		t.Errorf("error = %v", err)
	}
	if text, _ := b.read(daemonJSONPath); text != before {
		t.Errorf("the configuration is %q, want %q", text, before)
	}
	if b.exists(capdropPath) || b.exists(daemonJSONBackup) {
		t.Error("files of the wrapper are still there")
	}
}
