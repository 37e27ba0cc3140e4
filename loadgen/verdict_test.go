package loadgen

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// sound is a summary of a run that nothing is wrong with.
func sound() *Summary {
	return &Summary{
		Plan:     Plan{}.WithDefaults(),
		Requests: 100_000, Offered: 5000, Achieved: 5000.1,
		Lateness: Quantiles{P99: time.Millisecond},
		Host:     Host{CPUShare: .5},
		ByClass:  map[string]uint64{"ok": 99_000, "reset": 500, "status": 500},
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*Summary)
		want  string // "" = valid
	}{
		"sound":                    {func(*Summary) {}, ""},
		"interrupted":              {func(s *Summary) { s.Interrupted = true }, "interrupted before its end"},
		"open-ended":               {func(s *Summary) { s.Interrupted, s.Plan.OpenEnded = true, true }, ""},
		"nothing due":              {func(s *Summary) { s.Requests, s.Offered, s.Achieved = 0, 0, 0 }, "no request was due"},
		"late":                     {func(s *Summary) { s.Lateness.P99 = 11 * time.Millisecond }, "p99 of lateness 11ms is over 10ms"},
		"late, but allowed":        {func(s *Summary) { s.Lateness.P99, s.Plan.Limits.LatenessP99 = time.Second, Duration(time.Second) }, ""},
		"too slow":                 {func(s *Summary) { s.Achieved = 4900 }, "achieved rate 4900.000/s, offered 5000.000/s"},
		"too fast":                 {func(s *Summary) { s.Achieved = 5100 }, "achieved rate"},
		"off by less than allowed": {func(s *Summary) { s.Achieved = 5004 }, ""},
		"short run, 5 ms late":     {func(s *Summary) { s.Requests, s.Achieved = 6, 1000./1.005; s.Offered = 1000 }, ""},
		"CPU":                      {func(s *Summary) { s.Host.CPUShare = .95 }, "used 95 % of its CPU"},
		"no connections":           {func(s *Summary) { s.ByClass["limit"] = 3 }, "3 requests got none of the 8192 connections"},
		"no ports":                 {func(s *Summary) { s.ByClass["ports"] = 4 }, "4 requests found no local port"},
		"own failures":             {func(s *Summary) { s.ByClass["internal"] = 5 }, "5 requests failed in the generator"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sound()
			test.spoil(s)
			reasons := s.judge()
			assert.NotNil(t, reasons)
			if test.want == "" {
				assert.Empty(t, reasons)
				return
			}
			assert.Len(t, reasons, 1)
			assert.Contains(t, strings.Join(reasons, "\n"), test.want)
		})
	}
}
