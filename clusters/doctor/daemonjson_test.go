package doctor

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddRuntimeKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	got, err := addRuntime([]byte(`{"data-root":"/d","mtu":1400,"runtimes":{"gpu":{"path":"gpu-run"}}}`), "/x/capdrop")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "data-root": "/d",
  "default-runtime": "secondhop",
  "mtu": 1400,
  "runtimes": {
    "gpu": {
      "path": "gpu-run"
    },
    "secondhop": {
      "path": "/x/capdrop"
    }
  }
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("addRuntime (-want +got):\n%s", diff)
	}
}

func TestRemoveRuntime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, before string
		// edit is what somebody does to the file in between.
		edit func(map[string]any)
		want string
	}{
		{name: "no file", before: "", want: ""},
		{name: "empty object", before: "{}", want: "{}"},
		{name: "odd layout comes back to the byte", before: `{"mtu" :1400,  "debug":true}`, want: `{"mtu" :1400,  "debug":true}`},
		{name: "another default runtime", before: `{"default-runtime":"gpu","runtimes":{"gpu":{"path":"g"}}}`, want: `{"default-runtime":"gpu","runtimes":{"gpu":{"path":"g"}}}`},
		{name: "empty runtimes stay", before: `{"runtimes":{}}`, want: `{"runtimes":{}}`},
		{name: "edits made since then stay", before: `{"mtu":1400}`, edit: func(m map[string]any) { m["debug"] = true },
			want: "{\n  \"debug\": true,\n  \"mtu\": 1400\n}\n"},
		{name: "a default chosen since then stays", before: `{"mtu":1}`, edit: func(m map[string]any) { m["default-runtime"] = "other" },
			want: "{\n  \"default-runtime\": \"other\",\n  \"mtu\": 1\n}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text, err := addRuntime([]byte(tc.before), "/x")
			if err != nil {
				t.Fatal(err)
			}
			if tc.edit != nil {
				var m map[string]any
				if err := json.Unmarshal(text, &m); err != nil {
					t.Fatal(err)
				}
				tc.edit(m)
				text, _ = json.Marshal(m)
			}
			got, err := removeRuntime(text, []byte(tc.before))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("removeRuntime (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDaemonJSONThatCannotBeReadIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"{", "[]", `{"runtimes":[1]}`} {
		if got, err := addRuntime([]byte(bad), "/x"); err == nil {
			t.Errorf("addRuntime(%q) = %s, want an error", bad, got)
		}
	}
}

func FuzzDaemonJSONRoundTrip(f *testing.F) {
	f.Add([]byte(`{"mtu":1400,"runtimes":{"gpu":{}},"default-runtime":"gpu"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, before []byte) {
		added, err := addRuntime(before, "/x")
		if err != nil {
			return
		}
		if _, runtimes, _ := parseDaemonJSON(before); runtimes[runtimeName] != nil {
			return // ours already: there is no other state to go back to
		}
		after, err := removeRuntime(added, before)
		if err != nil || string(after) != string(before) {
			t.Errorf("%q came back as %q, %v", before, after, err)
		}
	})
}
