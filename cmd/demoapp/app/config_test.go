package app

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConfigFrom(t *testing.T) {
	t.Parallel()
	defaults := Config{Port: 8080, AgentPort: 8081, Grace: 6 * time.Second, Settings: defaultSettings()}
	for _, tc := range []struct {
		name string
		env  map[string]string
		want Config
		errs []string
	}{
		{name: "nothing set", want: defaults},
		{
			name: "everything set",
			env: map[string]string{
				"PORT": "1", "AGENT_PORT": "2", "SINK_PORT": "3", "GRACE": "0s", "START_DELAY": "1500ms", "SERVE_BEFORE_READY": "true",
				"POD_NAME": "p", "NODE_NAME": "n",
				"LATENCY": "20ms", "CAPACITY": "300.5", "COLD_FOR": "30s", "COLD_TIMES": "5", "PAUSE_EVERY": "20s", "PAUSE_FOR": "2s",
				"KEEP_ALIVE": "5s", "CLOSING": "announced", "APP_PORT": "open", "STOP": "exit", "FAIL_READINESS": "true",
				"READY": "false", "AGENT": "never-ready", "WEIGHT": "50",
			},
			want: Config{
				Port: 1, AgentPort: 2, SinkPort: 3, StartDelay: 1500 * time.Millisecond, ServeBeforeReady: true, Pod: "p", Node: "n",
				Settings: Settings{
					Latency: 20 * time.Millisecond, Capacity: 300.5, ColdFor: 30 * time.Second, ColdTimes: 5,
					PauseEvery: 20 * time.Second, PauseFor: 2 * time.Second, KeepAlive: 5 * time.Second, Closing: ClosingAnnounced,
					AppPort: PortOpen, Stop: StopExit, FailReadiness: true, Agent: AgentNeverReady, Weight: 50,
				},
			},
		},
		{
			name: "every mistake is named",
			env: map[string]string{
				"PORT": "0", "AGENT_PORT": "x", "GRACE": "-1s", "STOP": "quick", "AGENT": "no", "CAPACITY": "-1", "WEIGHT": "300",
				"READY": "maybe", "SERVE_BEFORE_READY": "x", "COLD_TIMES": "0.5", "LATENCY": "3", "PAUSE_FOR": "1s",
			},
			errs: []string{
				`PORT="0"`, `AGENT_PORT="x"`, `GRACE="-1s"`, `STOP="quick"`, `AGENT="no"`, `CAPACITY="-1"`, `WEIGHT="300"`,
				`READY="maybe"`, `SERVE_BEFORE_READY="x"`, `COLD_TIMES="0.5"`, `LATENCY="3"`, "a pause of 1s every 0s",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := ConfigFrom(func(name string) string { return tc.env[name] })
			if len(tc.errs) == 0 {
				if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
					t.Errorf("error %v, config (-want +got):\n%s", err, diff)
				}
				return
			}
			for _, want := range tc.errs {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v does not name %s", err, want)
				}
			}
		})
	}
}

func TestSettingsReadTheirOwnLines(t *testing.T) {
	t.Parallel()
	odd, err := defaultSettings().With([]string{
		"latency=1.5s", "capacity=0.25", "cold-times=3", "pause-every=3s", "pause-for=1s", "app-port=refuse", "ready=false", "agent=off", "weight=0",
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := defaultSettings().With(odd.Lines())
	if diff := cmp.Diff(odd, again); err != nil || diff != "" {
		t.Errorf("error %v, settings (-want +got):\n%s", err, diff)
	}
	for _, change := range []string{"latency", "speed=3", "=", "", "weight=1.5", "ready="} {
		if _, err := odd.With([]string{change}); err == nil {
			t.Errorf("%q was accepted", change)
		}
	}
}

func FuzzWith(f *testing.F) {
	f.Add("latency=1s")
	f.Add("pause-for=3s")
	f.Fuzz(func(t *testing.T, change string) {
		s, err := defaultSettings().With([]string{change})
		if err != nil {
			return
		}
		if again, err := defaultSettings().With(s.Lines()); err != nil || again != s {
			t.Errorf("%q gives %+v, which reads back as %+v, %v", change, s, again, err)
		}
	})
}
