package faults

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"secondhop/internal/failure"
)

func TestWordsAreFitForScenarios(t *testing.T) {
	t.Parallel()
	var names []string
	for _, kind := range Kinds() {
		names = append(names, kind.Name)
		if !strings.HasSuffix(kind.Summary, ".") || kind.New == nil {
			t.Errorf("%s: summary %q", kind.Name, kind.Summary)
		}
		documented(t, kind.Name, reflect.TypeOf(kind.Parameters))
		if found, ok := Find(kind.Name); !ok || found.Name != kind.Name {
			t.Errorf("Find(%s) = %v, %v", kind.Name, found.Name, ok)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("words are not in order or come twice: %v", names)
	}
	if _, ok := Find("pod_explode"); ok {
		t.Error("a word was found that there is not")
	}
}

// documented checks that every parameter has a name and an explanation.
func documented(t *testing.T, word string, parameters reflect.Type) {
	t.Helper()
	if parameters.Kind() != reflect.Struct {
		t.Fatalf("%s: parameters are a %s, want a struct", word, parameters)
	}
	for field := range fieldsOf(parameters) {
		if field.Tag.Get("yaml") == "" || field.Tag.Get("doc") == "" {
			t.Errorf("%s: parameter %s has no yaml or no doc tag", word, field.Name)
		}
		if kind := field.Type; kind.Kind() == reflect.Struct {
			documented(t, word, kind)
		}
	}
}

func fieldsOf(parameters reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range parameters.NumField() {
			if !yield(parameters.Field(i)) {
				return
			}
		}
	}
}

func TestWrongParametersAreTheCallersFault(t *testing.T) {
	t.Parallel()
	_, err := rolloutKind().New(Env{}, &Rollout{Target: "app", Pacing: "slowly"})
	if err == nil || !strings.Contains(err.Error(), `event rollout: pacing "slowly"`) {
		t.Errorf("error = %v", err)
	}
	if failure.ExitCode(err) != int(failure.Usage) {
		t.Errorf("exit code %d", failure.ExitCode(err))
	}
	if _, err := rolloutKind().New(Env{}, 7); err == nil || !strings.Contains(err.Error(), "parameters of type int, want *faults.Rollout") {
		t.Errorf("error = %v", err)
	}
}
