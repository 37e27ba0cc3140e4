package floors_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"secondhop/internal/floors"
)

// TestModule checks this module itself.
func TestModule(t *testing.T) {
	t.Parallel()
	wrong, err := floors.Check(os.DirFS("../.."), floors.Plan())
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range wrong {
		t.Error(sentence)
	}
}

func source(imports ...string) *fstest.MapFile {
	text := "package p\n"
	for _, i := range imports {
		text += "import _ \"" + i + "\"\n"
	}
	return &fstest.MapFile{Data: []byte(text)}
}

// Every rule turns red when it is broken, and only then.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		file string
		code *fstest.MapFile
		want []string
	}{
		{"a command may use all", "cmd/secondhop/x.go", source("secondhop/internal/runner", "secondhop/clusters", "k8s.io/api"), nil},
		{"parts use the base", "usher/x.go", source("secondhop/internal/wait", "k8s.io/client-go"), nil},
		{"parts stand alone", "edge/plan/x.go", source("secondhop/internal/measure"), []string{
			"edge/plan/x.go imports secondhop/internal/measure: floor measure is not below floor parts"}},
		{"a generator without harness", "loadgen/x.go", source("secondhop/internal/timeline"), []string{
			"loadgen/x.go imports secondhop/internal/timeline: floor ground is not below floor parts"}},
		{"clusters know no scenario", "clusters/kind/x.go", source("secondhop/internal/deploy"), []string{
			"clusters/kind/x.go imports secondhop/internal/deploy: floor harness is not below floor lab"}},
		{"nothing looks up", "internal/measure/x.go", source("secondhop/internal/report"), []string{
			"internal/measure/x.go imports secondhop/internal/report: floor report is not below floor measure"}},
		{"a report deploys nothing", "internal/report/x.go", source("secondhop/internal/locality", "secondhop/clusters"), []string{
			"internal/report/x.go imports secondhop/clusters: floor lab is not below floor report"}},
		{"a report runs nothing", "internal/report/x.go", source("secondhop/internal/deploy"), []string{
			"internal/report/x.go imports secondhop/internal/deploy: floor harness is not below floor report"}},
		{"arithmetic is pure", "internal/locality/x.go", source("k8s.io/api/core/v1"), []string{
			"internal/locality/x.go imports k8s.io/api/core/v1: floor ground is free of Kubernetes and Docker"}},
		{"the agent is small", "agent/x.go", source("net/http", "github.com/google/go-cmp/cmp"), []string{
			"agent/x.go imports github.com/google/go-cmp/cmp: the agent uses the standard library only"}},
		{"the agent is alone", "agent/x.go", source("secondhop/internal/wait"), []string{
			"agent/x.go imports secondhop/internal/wait: floor base is not below floor agent"}},
		{"nobody imports the plan", "internal/runner/x.go", source("secondhop/internal/floors"), []string{
			"internal/runner/x.go imports secondhop/internal/floors: floor plan is not below floor runner"}},
		{"tests are free", "agent/x_test.go", source("secondhop/internal/report"), nil},
		{"test data is not code", "clusters/testdata/x.go", source("secondhop/internal/report"), nil},
		{"a new package", "internal/new/x.go", source(), []string{
			"internal/new/x.go: package internal/new is on no floor: add it to the plan"}},
		{"an unknown import", "cmd/x.go", source("secondhop/internal/new"), []string{
			"cmd/x.go imports secondhop/internal/new: internal/new is on no floor: add it to the plan"}},
		{"a name that only begins alike", "agents/x.go", source(), []string{
			"agents/x.go: package agents is on no floor: add it to the plan"}},
		{"a long file", "usher/x_test.go", &fstest.MapFile{Data: []byte("package p\n" + strings.Repeat("\n", 600))}, []string{
			"usher/x_test.go has 601 lines, more than 600: divide it"}},
		{"a file at the limit", "usher/x_test.go", &fstest.MapFile{Data: []byte("package p\n" + strings.Repeat("\n", 599))}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := floors.Check(fstest.MapFS{tc.file: tc.code}, floors.Plan())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreadableSource(t *testing.T) {
	t.Parallel()
	_, err := floors.Check(fstest.MapFS{"cmd/x.go": {Data: []byte("pack")}}, floors.Plan())
	if err == nil || !strings.Contains(err.Error(), "cmd/x.go") {
		t.Errorf("error %v, want one that names the file", err)
	}
}

// Every floor that a floor may import from exists.
func TestPlanIsComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range floors.Plan() {
		names[f.Name] = true
	}
	for _, f := range floors.Plan() {
		for _, below := range f.Below {
			if !names[below] {
				t.Errorf("floor %s looks down on %q, which does not exist", f.Name, below)
			}
		}
	}
}
