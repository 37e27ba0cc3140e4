package render

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func process() Process {
	return Process{
		Node: "w1", Bind: "127.0.0.1:18080", PlainBind: "127.0.0.1:18081", StatsSocket: "/run/secondhop/haproxy.sock",
		StateFile: "/run/secondhop/haproxy.state", Threads: 1, MaxConn: 1000, HardStopAfter: time.Minute,
	}
}

func slots(numbers ...int) []Slot {
	var all []Slot
	for _, n := range numbers {
		all = append(all, Slot{Number: n, Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 19, 0, byte(10 + n)}), 80).String(), AgentPort: 8081})
	}
	return all
}

func servers() []Server {
	return []Server{
		{Name: "reg0", Address: netip.MustParseAddrPort("198.18.128.5:8080"), Enabled: true},
		{Name: "reg1", Address: netip.MustParseAddrPort("[fd00::5]:8080")},
		{Name: "reg2"},
	}
}

func configs() map[string]Config {
	owner := Backend{Name: "app.my-app.80.plain", Redispatch: true, Servers: servers()}
	follower := func(name string, redispatch bool, s []Slot) Backend {
		return Backend{Name: name, Track: owner.Name, Redispatch: redispatch, Servers: servers(), Slots: s}
	}
	to := func(host, path string, exact bool) Route {
		return Route{Host: host, Path: path, Exact: exact, Backend: "app.my-app.80.slots", Plain: owner.Name}
	}
	return map[string]Config{
		"empty": {Process: process()},
		"slots": {Process: process(), Routes: []Route{to("my-app.example", "/", false)}, Backends: []Backend{owner, follower("app.my-app.80.slots", true, slots(0, 1, 2, 3))}},
		"gap":   {Process: process(), Routes: []Route{to("", "/", false)}, Backends: []Backend{owner, follower("app.my-app.80.slots", true, slots(2))}},
		"published": {Process: process(), Routes: []Route{to("", "/", false)}, Backends: []Backend{
			owner, {Name: "app.my-app.80.slots", Track: owner.Name, Redispatch: true, Servers: servers(), Slots: slots(0, 1, 2, 3), Published: true},
		}},
		"noredispatch": {Process: process(), Backends: []Backend{
			owner, follower("app.my-app.80.endpoints.noredispatch", false, nil),
			{Name: "app.my-app.80.cluster-ip", Redispatch: true, OneConnectionEach: true, Servers: []Server{{Name: "svc", Address: netip.MustParseAddrPort("198.19.0.7:80"), Enabled: true}}},
		}},
		"routes": {Process: process(), Routes: []Route{
			to("a.example", "/x/y", true), to("a.example", "/x/", false), to("a.example", "/it's $HOME \"%[src]\" \\ # {}", false),
			to("*.example", "/", false), to("", "/", false),
		}, Backends: []Backend{owner, follower("app.my-app.80.slots", true, nil)}},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, config := range configs() {
		for _, addresses := range []Addresses{InText, RuntimeOnly} {
			t.Run(name+"/"+addresses.String(), func(t *testing.T) {
				t.Parallel()
				var got bytes.Buffer
				if err := Write(&got, config, addresses); err != nil {
					t.Fatal(err)
				}
				golden(t, name+"."+addresses.String()+".cfg", got.String())
				accepted(t, got.String())
			})
		}
	}
}

func TestDrawGolden(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := Draw(&got, slots(0, 1, 2, 3), "init-addr last,libc,none"); err != nil {
		t.Fatal(err)
	}
	golden(t, "draw.cfg", got.String())
	accepted(t, "defaults\n    mode http\n    timeout connect 1s\n    timeout client 1s\n    timeout server 1s\nlisten b\n    bind 127.0.0.1:18080\n"+got.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

// accepted has a real haproxy read the configuration, where there is one.
func accepted(t *testing.T, config string) {
	t.Helper()
	program := os.Getenv("SECONDHOP_HAPROXY")
	if program == "" {
		program = "haproxy"
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Log("not checked by haproxy: none in PATH nor named by SECONDHOP_HAPROXY")
		return
	}
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "-c", "-f", path).CombinedOutput(); err != nil {
		t.Errorf("haproxy refuses it: %v\n%s", err, out)
	}
}

func TestRuntimeOnlyHidesWhatChangesWithoutReload(t *testing.T) {
	t.Parallel()
	write := func(change func(*Config), addresses Addresses) string {
		config := configs()["slots"]
		change(&config)
		var out bytes.Buffer
		if err := Write(&out, config, addresses); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	nothing := func(*Config) {}
	endpoint := func(c *Config) {
		c.Backends[0].Servers[2] = Server{Name: "reg2", Address: netip.MustParseAddrPort("198.18.128.6:8080"), Enabled: true}
	}
	slot := func(c *Config) { c.Backends[1].Slots[0].Address = "198.19.0.99:80" }
	place := func(c *Config) { c.Backends[0].Servers = append(c.Backends[0].Servers, Server{Name: "reg3"}) }
	for _, tt := range []struct {
		name            string
		change          func(*Config)
		text, structure bool
	}{{"nothing", nothing, false, false}, {"endpoint", endpoint, true, false}, {"slot", slot, true, true}, {"place", place, true, true}} {
		if got := write(tt.change, InText) != write(nothing, InText); got != tt.text {
			t.Errorf("%s changes the text: %t", tt.name, got)
		}
		if got := write(tt.change, RuntimeOnly) != write(nothing, RuntimeOnly); got != tt.structure {
			t.Errorf("%s changes the structure: %t", tt.name, got)
		}
	}
}

func TestWriteRefusesWhatWouldBreakTheText(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"path":    func(c *Config) { c.Routes[0].Path = "/\n    bind :1" },
		"host":    func(c *Config) { c.Routes[0].Host = "a\x00" },
		"backend": func(c *Config) { c.Backends[0].Name = "a\nb" },
		"slot":    func(c *Config) { c.Backends[1].Slots[0].Address = "a b" },
		"node":    func(c *Config) { c.Process.Node = "\r" },
		"bind":    func(c *Config) { c.Process.Bind = "" },
	} {
		config := configs()["slots"]
		change(&config)
		if err := Write(&bytes.Buffer{}, config, InText); err == nil {
			t.Errorf("a bad %s is written", name)
		}
	}
}

func FuzzRoute(f *testing.F) {
	f.Add("a.example", "/", false)
	f.Add("*.example", "/it's", true)
	f.Add("", "/a\nb", false)
	f.Fuzz(func(t *testing.T, host, path string, exact bool) {
		config := Config{Process: process(), Routes: []Route{{Host: host, Path: path, Exact: exact, Backend: "b", Plain: "p"}}}
		var empty, out bytes.Buffer
		if err := Write(&empty, Config{Process: process()}, InText); err != nil {
			t.Fatal(err)
		}
		if err := Write(&out, config, InText); err != nil {
			return
		}
		// Whatever they hold, a route is one or two rules in each frontend.
		if more := strings.Count(out.String(), "\n") - strings.Count(empty.String(), "\n"); more != 2 && more != 4 {
			t.Errorf("host %q path %q makes %d lines", host, path, more)
		}
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "use_backend") && words(line) < 0 {
				t.Errorf("host %q path %q leaves a quote open: %s", host, path, line)
			}
		}
	})
}

// words counts the words of a line as HAProxy's parser does, -1 for an open quote.
func words(line string) int {
	n, inside, word := 0, false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inside:
			inside = c != '\''
		case c == '\'':
			inside, word = true, true
		case c == '\\':
			i++
			word = true
		case c == ' ' || c == '\n':
			if word {
				n++
			}
			word = false
		default:
			word = true
		}
	}
	if inside {
		return -1
	}
	return n
}

func TestSafeMaxConn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wanted int
		files  uint64
		want   int
	}{{8000, 0, 8000}, {8000, 1 << 20, 8000}, {8000, 20000, 8000}, {12000, 20000, 9500}, {8000, 4096, 1548}, {8000, 1024, 256}} {
		if got := SafeMaxConn(tt.wanted, tt.files); got != tt.want {
			t.Errorf("SafeMaxConn(%d, %d) = %d, want %d", tt.wanted, tt.files, got, tt.want)
		}
	}
}
