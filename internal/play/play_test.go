package play

import (
	"testing"
	"time"

	"secondhop/fixtures"
	"secondhop/internal/deploy"
	"secondhop/internal/measure"
	"secondhop/internal/trial"
)

// Every strategy, event and check that the loader knows can be played.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	v := Vocabulary()
	for _, terms := range [][]fixtures.Term{v.Events, v.Checks, v.Strategies} {
		seen := map[string]bool{}
		for _, term := range terms {
			if seen[term.Name] || term.Summary == "" {
				t.Errorf("word %q: it needs a name of its own and a summary", term.Name)
			}
			seen[term.Name] = true
		}
		if len(seen) == 0 {
			t.Error("a vocabulary without words")
		}
	}
}

func TestWorstVerdictCounts(t *testing.T) {
	t.Parallel()
	of := func(verdicts ...measure.Verdict) []measure.Assertion {
		var all []measure.Assertion
		for _, verdict := range verdicts {
			all = append(all, measure.Assertion{Verdict: verdict})
		}
		return all
	}
	for _, test := range []struct {
		before measure.Verdict
		these  []measure.Assertion
		want   measure.Verdict
	}{
		{measure.Pass, of(measure.Pass, measure.Pass), measure.Pass},
		{measure.Pass, of(measure.Pass, measure.Inconclusive), measure.Inconclusive},
		{measure.Inconclusive, of(measure.Pass), measure.Inconclusive},
		{measure.Inconclusive, of(measure.NotProvoked), measure.NotProvoked},
		{measure.NotProvoked, of(measure.Fail, measure.Pass), measure.Fail},
	} {
		if got := worse(test.before, test.these); got != test.want {
			t.Errorf("%s and then %v: %s, want %s", test.before, test.these, got, test.want)
		}
	}
}

func TestInstantsBecomeWhen(t *testing.T) {
	t.Parallel()
	if got := when(fixtures.Instant{Event: "drain", Done: true, Delay: time.Second}); got != (trial.When{After: "drain", Done: true, Delay: time.Second}) {
		t.Errorf("%+v", got)
	}
	for range 100 {
		if got := when(fixtures.Instant{Delay: time.Second, Random: time.Second}).Delay; got < time.Second || got >= 2*time.Second {
			t.Fatalf("1s+random(1s) is %s", got)
		}
	}
}

func TestAppOf(t *testing.T) {
	t.Parallel()
	text := `apiVersion: secondhop/v1
metadata: {name: app, summary: An application that is not the usual.}
workloads: [{name: my-app, placement: [2, 1], app: {grace: 0s, latency: 5ms}, agent: {mode: weight-only}, ingress: {redispatch: "off"}}]
traffic: {duration: 1s}
strategies: [slots]
checks: [{check: errors_by_class}]
`
	s, err := fixtures.Load("app.yaml", []byte(text), Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	app := appOf(s)
	if app.Name != "my-app" || len(app.Placement) != 2 || app.Grace >= 0 || app.Latency != 5*time.Millisecond ||
		app.Agent != deploy.AgentWeightOnly || !app.RedispatchOff || app.Stop != deploy.StopGraceful {
		t.Errorf("%+v", app)
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	if got := slug("Exit at SIGTERM, slots: no grace!"); got != "exit-at-sigterm--slots--no-grace" {
		t.Errorf("%q", got)
	}
}
