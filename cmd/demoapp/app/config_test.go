package app

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConfigFrom(t *testing.T) {
	t.Parallel()
	defaults := Config{Port: 8080, AgentPort: 8081, Grace: 6 * time.Second, Stop: StopGraceful, Agent: AgentNormal}
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
				"PORT": "1", "AGENT_PORT": "2", "SINK_PORT": "3", "GRACE": "0s", "START_DELAY": "1500ms",
				"STOP": "exit", "AGENT": "never-ready", "POD_NAME": "p", "NODE_NAME": "n",
			},
			want: Config{
				Port: 1, AgentPort: 2, SinkPort: 3, StartDelay: 1500 * time.Millisecond,
				Stop: StopExit, Agent: AgentNeverReady, Pod: "p", Node: "n",
			},
		},
		{
			name: "every mistake is named",
			env:  map[string]string{"PORT": "0", "AGENT_PORT": "x", "GRACE": "-1s", "STOP": "quick", "AGENT": "no"},
			errs: []string{`PORT="0"`, `AGENT_PORT="x"`, `GRACE="-1s"`, `STOP="quick"`, `AGENT="no"`},
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
