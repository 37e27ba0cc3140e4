package report_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Every field that a result can have is explained in docs/results.md.
func TestFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	full := sample()
	full.Environment.GitDirty = true
	full.Problems = failedProvisioning().Problems
	data, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	collect(tree, fields)
	if len(fields) < 70 {
		t.Errorf("the sample has only %d different fields", len(fields))
	}
	for field := range fields {
		if !strings.Contains(string(text), "`"+field+"`") {
			t.Errorf("field %q is not explained in docs/results.md", field)
		}
	}
}

func collect(tree any, into map[string]bool) {
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			into[key] = true
			collect(value, into)
		}
	case []any:
		for _, value := range v {
			collect(value, into)
		}
	}
}
