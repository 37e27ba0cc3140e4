package trial

import (
	"strings"
	"testing"
)

func TestValidateFindsInstantsThatNeverCome(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events []Planned
		want   string // part of the error; empty for none
	}{
		"in order":      {[]Planned{{Name: "a"}, {Name: "b", When: When{After: "a"}}}, ""},
		"any order":     {[]Planned{{Name: "b", When: When{After: "a"}}, {Name: "a"}}, ""},
		"nobody":        {[]Planned{{Name: "a", When: When{After: "b"}}}, `"b", which is not planned`},
		"itself":        {[]Planned{{Name: "a", When: When{After: "a"}}}, `"a" waits for itself`},
		"in a circle":   {[]Planned{{Name: "a", When: When{After: "b"}}, {Name: "b", When: When{After: "a"}}}, "waits for itself"},
		"same name":     {[]Planned{{Name: "a"}, {Name: "a"}}, "a name of its own"},
		"without names": {[]Planned{{}}, "a name of its own"},
	} {
		err := Spec{Name: name, Load: Load{Rate: 1}, Events: test.events}.Validate()
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
