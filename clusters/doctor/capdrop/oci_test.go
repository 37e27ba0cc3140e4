package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindTarget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
		want target
		ok   bool
	}{
		{"create as the shim calls it", []string{"--root", "/run/runc", "--log", "/l.json", "--log-format", "json", "create", "--bundle", "/b", "--pid-file", "/b/pid", "id"}, target{"/b/config.json", true}, true},
		{"a global value that looks like a command", []string{"--root", "exec", "create", "-b", "/b", "id"}, target{"/b/config.json", true}, true},
		{"run in the working directory", []string{"run", "id"}, target{"config.json", true}, true},
		{"joined flag", []string{"--systemd-cgroup", "run", "--bundle=/x", "id"}, target{"/x/config.json", true}, true},
		{"exec with a process file", []string{"--root=/r", "exec", "--process", "/tmp/p", "--detach", "id"}, target{"/tmp/p", false}, true},
		{"exec of a command line", []string{"exec", "id", "ls"}, target{}, false},
		{"other commands", []string{"--root", "/r", "delete", "--force", "create"}, target{}, false},
		{"nothing", nil, target{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := findTarget(tc.args)
			if got != tc.want || ok != tc.ok {
				t.Errorf("findTarget = %+v, %v, want %+v, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestBoundingSet(t *testing.T) {
	t.Parallel()
	// All 41 capabilities but the 24th bit, CAP_SYS_RESOURCE.
	set, err := boundingSet("Name:\tx\nCapBnd:\t000001fffeffffff\n")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for name, has := range set {
		if !has {
			missing = append(missing, name)
		}
	}
	if !slices.Equal(missing, []string{"CAP_SYS_RESOURCE"}) || len(set) != 41 {
		t.Errorf("missing = %v of %d, want only CAP_SYS_RESOURCE of 41", missing, len(set))
	}
	for _, bad := range []string{"", "CapBnd:\tzz\n"} {
		if _, err := boundingSet(bad); err == nil {
			t.Errorf("boundingSet(%q) gave no error", bad)
		}
	}
}

func TestRewriteTouchesOnlyCapabilities(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"CAP_CHOWN": true, "CAP_SYS_RESOURCE": false}
	for _, tc := range []struct {
		name, in, want string
		whole          bool
	}{
		{"configuration", `{"ociVersion":"1.0","process":{"oomScoreAdj":9007199254740993,"capabilities":{"bounding":["CAP_CHOWN","CAP_SYS_RESOURCE","CAP_NEW"],"effective":["CAP_SYS_RESOURCE"]}}}`,
			`{"ociVersion":"1.0","process":{"capabilities":{"bounding":["CAP_CHOWN","CAP_NEW"],"effective":[]},"oomScoreAdj":9007199254740993}}`, true},
		{"process", `{"capabilities":{"permitted":["CAP_SYS_RESOURCE","CAP_CHOWN"]},"args":["a"]}`, `{"args":["a"],"capabilities":{"permitted":["CAP_CHOWN"]}}`, false},
		{"no capabilities", `{"process": {"args": []}}`, `{"process":{"args":[]}}`, true},
		{"null", `{"process": null}`, `{"process": null}`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := rewrite([]byte(tc.in), tc.whole, allowed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("rewrite (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRewriteFileKeepsModeAndLeavesNoDraft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, []byte(`{"process":{"capabilities":{"bounding":["CAP_SYS_RESOURCE"]}}}`), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := rewriteFile(target{path, true}, map[string]bool{"CAP_SYS_RESOURCE": false}); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(path)
	entries, _ := os.ReadDir(dir)
	text, _ := os.ReadFile(path)
	if info.Mode().Perm() != 0o640 || len(entries) != 1 || string(text) != `{"process":{"capabilities":{"bounding":[]}}}` {
		t.Errorf("mode %v, %d files, %s", info.Mode(), len(entries), text)
	}
	if err := rewriteFile(target{filepath.Join(dir, "absent"), true}, nil); err == nil {
		t.Error("no error for a file that is not there")
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add([]byte(`{"process":{"capabilities":{"bounding":["CAP_CHOWN"]}}}`), true)
	f.Add([]byte(`{"capabilities":null}`), false)
	f.Fuzz(func(t *testing.T, document []byte, whole bool) {
		out, err := rewrite(document, whole, map[string]bool{"CAP_CHOWN": false})
		if err == nil && !json.Valid(out) {
			t.Errorf("%q became invalid JSON %q", document, out)
		}
	})
}
