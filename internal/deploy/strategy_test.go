package deploy

import "testing"

func TestStrategies(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Strategies() {
		if seen[s.Name] || s.Summary == "" || s.Model == "" {
			t.Errorf("strategy %+v: it needs a name of its own, a summary and a model", s)
		}
		seen[s.Name] = true
		if found, ok := FindStrategy(s.Name); !ok || found != s {
			t.Errorf("FindStrategy(%q) = %+v, %v", s.Name, found, ok)
		}
		// kube-proxy chooses once for each connection.
		if proxied := s.Policy == PolicyClusterIP || s.Direct; proxied != s.PerRequest {
			t.Errorf("%s: left to kube-proxy %v, a connection for each request %v", s.Name, proxied, s.PerRequest)
		}
	}
	if _, ok := FindStrategy("nearest"); ok {
		t.Error("there is a strategy that nobody knows")
	}
}

func TestMetric(t *testing.T) {
	t.Parallel()
	const text = `# HELP a_seconds About it.
a_seconds_total 7
a_seconds 1.6796107672e+09
b{x="y"} 3
`
	for name, want := range map[string]float64{"a_seconds": 1.6796107672e9, "a_seconds_total": 7, "b": 0, "c": 0} {
		if got := metric(text, name); got != want {
			t.Errorf("metric %s = %v, want %v", name, got, want)
		}
	}
}
