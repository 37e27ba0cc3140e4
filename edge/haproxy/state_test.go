package haproxy

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseServersStateReadsRealState(t *testing.T) {
	t.Parallel()
	in, err := os.ReadFile("testdata/state.txt") // written by HAProxy 2.6.12
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseServersState(bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort
	want := []ServerState{
		{Backend: "health", Server: "ready", Address: at("127.0.0.1:1"), Up: true, Weight: 1},
		{Backend: "plain", Server: "reg0", Address: at("127.0.0.1:28090"), Up: true, Weight: 1},
		{Backend: "plain", Server: "reg1", Address: at("127.0.0.1:28090"), Up: true, Weight: 1},
		{Backend: "plain", Server: "reg2", Address: at("127.0.0.1:1"), Maintenance: true, ForcedMaintenance: true, Weight: 1},
		{Backend: "pol", Server: "reg0", Address: at("127.0.0.1:28090"), Up: true, Weight: 1},
		{Backend: "pol", Server: "reg1", Address: at("127.0.0.1:28090"), Up: true, Weight: 1},
		{Backend: "pol", Server: "reg2", Address: at("127.0.0.1:1"), Maintenance: true, Weight: 1},
		{Backend: "pol", Server: "slot0", Address: at("127.0.0.1:28091"), Maintenance: true, ForcedMaintenance: true, Weight: 100},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseServersStateNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	const columns = "# be_name srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_port\n"
	tests := []struct{ name, in, want string }{
		{"empty", "", "unexpected EOF"},
		{"version", "2\n" + columns, `version is "2"`},
		{"no columns", "1\n# be_name\n", "no column srv_name"},
		{"short line", "1\n" + columns + "app reg0\n", "line 3: 2 fields, want 7"},
		{"bad port", "1\n" + columns + "app reg0 127.0.0.1 2 0 1 70000\n", `srv_port is "70000"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseServersState(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzParseServersState(f *testing.F) {
	real, err := os.ReadFile("testdata/state.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(real)
	f.Fuzz(func(t *testing.T, in []byte) {
		servers, err := ParseServersState(bytes.NewReader(in))
		if err != nil {
			return
		}
		for _, s := range servers {
			if s.Backend == "" || s.Server == "" {
				t.Errorf("server without a name: %+v", s)
			}
		}
	})
}
