package checks

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"secondhop/internal/failure"
	"secondhop/internal/measure"
)

func TestWordsAreFitForScenarios(t *testing.T) {
	t.Parallel()
	var names []string
	for _, kind := range Kinds() {
		names = append(names, kind.Name)
		if !strings.HasSuffix(kind.Summary, ".") || kind.Judge == nil {
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
	if _, ok := Find("all_is_well"); ok {
		t.Error("a word was found that there is not")
	}
}

// documented checks that every parameter has a name and an explanation.
func documented(t *testing.T, word string, parameters reflect.Type) {
	t.Helper()
	if parameters.Kind() != reflect.Struct {
		t.Fatalf("%s: parameters are a %s, want a struct", word, parameters)
	}
	for i := range parameters.NumField() {
		field := parameters.Field(i)
		if field.Tag.Get("yaml") == "" || field.Tag.Get("doc") == "" {
			t.Errorf("%s: parameter %s has no yaml or no doc tag", word, field.Name)
		}
		if field.Type.Kind() == reflect.Struct {
			documented(t, word, field.Type)
		}
	}
}

func TestWrongParametersAreTheCallersFault(t *testing.T) {
	t.Parallel()
	_, err := errorsByClassKind().Judge(t.Context(), Input{}, &ErrorsByClass{Classes: []string{"bad luck"}})
	if err == nil || !strings.Contains(err.Error(), `check errors_by_class: class "bad luck": want one of connect,`) {
		t.Errorf("error = %v", err)
	}
	if failure.ExitCode(err) != int(failure.Usage) {
		t.Errorf("exit code %d", failure.ExitCode(err))
	}
	if _, err := errorsByClassKind().Judge(t.Context(), Input{}, 7); err == nil || !strings.Contains(err.Error(), "parameters of type int, want *checks.ErrorsByClass") {
		t.Errorf("error = %v", err)
	}
}

// A negative control passes when its check is red, and proves nothing when the
// check is green or the fault did not happen.
func TestInverted(t *testing.T) {
	t.Parallel()
	green := measure.Equal("x", "y", "count", 0, 0)
	red := measure.Equal("x", "y", "count", 1, 0)
	for name, test := range map[string]struct {
		happened bool
		of       []measure.Assertion
		want     measure.Verdict
	}{
		"one is red":  {true, []measure.Assertion{green, red}, measure.Pass},
		"none is red": {true, []measure.Assertion{green}, measure.NotProvoked},
		"no fault":    {false, []measure.Assertion{red}, measure.NotProvoked},
		"nothing":     {true, nil, measure.Inconclusive},
	} {
		in := sample{events: 1}.input(t)
		if !test.happened {
			in.Outcome.Events = nil
		}
		if got := Inverted(in, "x", test.of); got.Verdict != test.want {
			t.Errorf("%s: %s, want %s", name, got.Verdict, test.want)
		}
	}
}
