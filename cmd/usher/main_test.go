package main

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"POD_NAMESPACE": "lab"}[name] }
	o, err := parse([]string{"--label-domain=example.org", "--default-slots=2", "--fault=free-slot-at-deletion"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if o.config.Domain != "example.org" || o.config.DefaultSlots != 2 || !o.config.FreeAtDeletion || o.lease.Namespace != "lab" {
		t.Errorf("options = %+v", o)
	}
	late, err := parse([]string{"--fault=delay-watch:1500ms"}, env)
	if err != nil || late.config.WatchDelay != 1500*time.Millisecond || late.config.FreeAtDeletion {
		t.Errorf("options = %+v, %v", late, err)
	}
	other, err := parse(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	if other.config.FreeAtDeletion || other.lease.Identity == o.lease.Identity {
		t.Errorf("the fault is on by default, or two processes have one identity: %+v", other)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ arg, want string }{
		{"--fault=crash", "--fault"},
		{"--fault=delay-watch:soon", "--fault"},
		{"--fault=delay-watch:0s", "--fault"},
		{"--label-domain=Bad Domain", "--label-domain"},
		{"--default-slots=0", "--default-slots"},
		{"--lease-duration=1ms", "--lease-duration"},
		{"--nonsense", "nonsense"},
	} {
		if _, err := parse([]string{tc.arg}, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("parse(%s) = %v, want an error that names %s", tc.arg, err, tc.want)
		}
	}
}
