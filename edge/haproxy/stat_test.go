package haproxy

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatReadsRealTable(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/stat.csv") // written by HAProxy 2.6.12
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := ParseStat(file)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(got))
	for i, s := range got {
		names[i] = s.Proxy + "/" + s.Server + " " + s.Status
	}
	want := []string{
		"health/ready no check", "plain/reg0 UP", "plain/reg1 UP", "plain/reg2 MAINT",
		"pol/reg0 UP", "pol/reg1 UP", "pol/reg2 MAINT (via plain/reg2)", "pol/slot0 MAINT",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if slot := got[7]; slot.Weight != 100 || slot.AgentStatus != "L4CON" || slot.Up() {
		t.Errorf("slot0 = %+v", slot)
	}
}

const header = "# pxname,svname,stot,bin,bout,econ,eresp,wretr,wredis,status,weight,lbtot,type,check_status,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other,req_tot,agent_status,uweight,\n"

func TestParseStatTypesEveryField(t *testing.T) {
	t.Parallel()
	in := header + "app,slot1,9,10,20,1,2,3,4,UP 1/3,7,5,2,L4OK,1,2,3,4,5,6,8,L7OK,100,\napp,BACKEND,9,,,,,,,UP,,,1,,,,,,,,,,,\n"
	got, err := ParseStat(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []ServerStat{{
		Proxy: "app", Server: "slot1", Status: "UP 1/3", Weight: 7, SetWeight: 100, CheckStatus: "L4OK", AgentStatus: "L7OK",
		Requests: 8, Responses: Responses{1, 2, 3, 4, 5, 6}, Sessions: 9, Balanced: 5, Retries: 3, Redispatches: 4,
		ConnectErrors: 1, ResponseErrors: 2, BytesIn: 10, BytesOut: 20,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[0].Responses.Total() != 21 || !got[0].Up() {
		t.Errorf("total %d, up %t", got[0].Responses.Total(), got[0].Up())
	}
}

func TestParseStatNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"empty", "", "header"},
		{"other table", "# pxname,svname\n", "no column type"},
		{"bad count", header + "app,reg0,-1,,,,,,,UP,1,0,2,,,,,,,,,,,\n", `line 2: column stot is "-1"`},
		{"bad weight", header + "app,reg0,1,,,,,,,UP,x,0,2,,,,,,,,,,,\n", `column weight is "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseStat(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSlotShareCountsAnswersOfOneBackend(t *testing.T) {
	t.Parallel()
	answers := func(proxy, server string, ok, failed uint64) ServerStat {
		return ServerStat{Proxy: proxy, Server: server, Sessions: 999, Balanced: 999, Responses: Responses{Success: ok, ServerError: failed}}
	}
	slots, all := SlotShare([]ServerStat{
		answers("app", "slot0", 30, 5), answers("app", "slot1", 20, 0), answers("app", "reg0", 45, 0), answers("other", "slot0", 7, 0),
	}, "app")
	if slots != 55 || all != 100 {
		t.Errorf("SlotShare = %d of %d, want 55 of 100", slots, all)
	}
}

func FuzzParseStat(f *testing.F) {
	real, err := os.ReadFile("testdata/stat.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(real)
	f.Add([]byte(header + "app,slot1,9,10,20,1,2,3,4,UP,7,5,2,L4OK,1,2,3,4,5,6,8,L7OK,100,\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		servers, err := ParseStat(bytes.NewReader(in))
		if err != nil && servers != nil {
			t.Error("servers together with an error")
		}
		if rows := bytes.Count(in, []byte("\n")) + 1; len(servers) > rows {
			t.Errorf("%d servers of %d lines", len(servers), rows)
		}
	})
}
