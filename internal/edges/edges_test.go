package edges

import (
	"os"
	"strings"
	"testing"

	"secondhop/edge/states"
)

func TestParseStatsReadsARealAnswer(t *testing.T) {
	t.Parallel()
	answer, err := os.ReadFile("testdata/answer.txt") // written by HAProxy 2.6.12
	if err != nil {
		t.Fatal(err)
	}
	stats, err := ParseStats(string(answer))
	if err != nil {
		t.Fatal(err)
	}
	if stats.Worker == "" || strings.Trim(stats.Worker, "0123456789") != "" {
		t.Errorf("worker %q, want a process id", stats.Worker)
	}
	var servers []string
	for _, s := range stats.Servers {
		servers = append(servers, s.Proxy+"/"+s.Server+" "+s.Status)
	}
	if got, want := strings.Join(servers, ", "), "app.my-app.80.slots/reg0 MAINT, app.my-app.80.slots/slot0 no check"; got != want {
		t.Errorf("servers %q, want %q", got, want)
	}
}

func TestParseStatsNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ answer, want string }{
		{"Unknown command: 'sho'\n", "one part"},
		{"Name: HAProxy\n\n# pxname,svname\n\n", "no Pid"},
		{"Pid: 7\n\nPermission denied\n\n", "header"},
	} {
		if _, err := ParseStats(tc.answer); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.answer, err, tc.want)
		}
	}
}

func TestReadSamplesTakesWholeLines(t *testing.T) {
	t.Parallel()
	line := `{"at":"2026-01-02T03:04:05.5Z","changed":[{"proxy":"app","server":"slot0","status":"UP","weight":100}]}` + "\n"
	var got []states.Sample
	take := func(s states.Sample) { got = append(got, s) }
	if err := readSamples(strings.NewReader(line+`{"at":"2026-01-02T03:04:06Z"}`+"\n"+line[:40]), take); err != nil {
		t.Errorf("a line cut short by the end of the pod: %v", err)
	}
	if len(got) != 2 || len(got[0].Changed) != 1 || got[0].Changed[0].Weight != 100 || got[1].Changed != nil {
		t.Errorf("samples %+v", got)
	}
	if err := readSamples(strings.NewReader("Usage: edge\n"), take); err == nil {
		t.Error("what is not a sample was accepted")
	}
}

func FuzzParseStats(f *testing.F) {
	answer, err := os.ReadFile("testdata/answer.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(answer))
	f.Add("Pid: 7\n\n# pxname,svname,type,status,weight,stot,lbtot,req_tot,hrsp_2xx\n")
	f.Fuzz(func(t *testing.T, answer string) {
		if stats, err := ParseStats(answer); err == nil && stats.Worker == "" {
			t.Error("accepted without a process id")
		}
	})
}
