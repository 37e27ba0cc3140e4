package agent

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestLineFollowsStateAndWeight(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(*Agent)
		want string
		in   State
	}{
		{"new", func(*Agent) {}, "0%\n", Starting},
		{"ready", func(a *Agent) { a.SetReady() }, "up ready 100%\n", Ready},
		{"ready at half weight", func(a *Agent) { a.SetReady(); a.SetWeight(50) }, "up ready 50%\n", Ready},
		{"weight set before ready", func(a *Agent) { a.SetWeight(150); a.SetReady() }, "up ready 150%\n", Ready},
		{"ready at weight 0", func(a *Agent) { a.SetReady(); a.SetWeight(0) }, "up ready 0%\n", Ready},
		{"draining", func(a *Agent) { a.SetReady(); a.Drain() }, "0%\n", Draining},
		{"drained while starting", func(a *Agent) { a.Drain() }, "0%\n", Draining},
		{"no way back from draining", func(a *Agent) { a.Drain(); a.SetReady(); a.SetWeight(80) }, "0%\n", Draining},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := New()
			before := a.Line() // a rendered line must not outlive a change
			tc.do(a)
			if got := a.Line(); got != tc.want || a.State() != tc.in {
				t.Errorf("line %q in state %s, want %q in %s (was %q)", got, a.State(), tc.want, tc.in, before)
			}
		})
	}
}

func TestSetWeightRefusesWhatHAProxyWouldCap(t *testing.T) {
	t.Parallel()
	a := New()
	for _, percent := range []int{-1, MaxWeight + 1} {
		if a.SetWeight(percent) == nil {
			t.Errorf("SetWeight(%d) was accepted", percent)
		}
	}
	if a.Weight() != 100 {
		t.Errorf("weight = %d after refusals, want 100", a.Weight())
	}
}

func TestReadinessStaysWhileDraining(t *testing.T) {
	t.Parallel()
	a := New()
	probe := func() int {
		recorder := httptest.NewRecorder()
		a.ReadinessHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return recorder.Code
	}
	starting := probe()
	a.SetReady()
	ready := probe()
	a.Drain()
	if draining := probe(); starting != 503 || ready != 200 || draining != 200 {
		t.Errorf("probe answers %d, %d, %d; want 503, 200, 200", starting, ready, draining)
	}
}
