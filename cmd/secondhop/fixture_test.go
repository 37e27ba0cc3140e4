package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"secondhop/fixtures"
	"secondhop/internal/play"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Every file of the library can be loaded, and is called what it says.
func TestLibrary(t *testing.T) {
	t.Parallel()
	files, err := fixtures.Library()
	if err != nil || len(files) == 0 {
		t.Fatalf("library: %d files, %v", len(files), err)
	}
	for _, file := range files {
		scenario, err := fixtures.Load(file.Path, file.Text, play.Vocabulary())
		if err != nil {
			t.Error(err)
			continue
		}
		if scenario.Metadata.Name != file.Name() {
			t.Errorf("%s is called %q", file.Path, scenario.Metadata.Name)
		}
	}
}

// The schema that is checked in is the one of the words that there are.
func TestSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	const path = "../../fixtures/schema/scenario.schema.json"
	var got bytes.Buffer
	if err := fixtures.WriteSchema(&got, play.Vocabulary()); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(got.Bytes()) {
		t.Fatal("it is not JSON")
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s is out of date; go test ./cmd/secondhop -update writes it anew (-want +got):\n%s", path, diff)
	}
}
