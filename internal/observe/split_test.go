package observe

import (
	"context"
	"flag"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"

	"secondhop/clusters/netns"
	"secondhop/internal/command"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testSplit() SplitSpec {
	return SplitSpec{
		PodNetwork: netip.MustParsePrefix("198.18.128.0/17"), IngressPorts: []int{80, 81}, AppPort: 8080, SinkPort: 9000,
	}
}

func TestRulesGolden(t *testing.T) {
	t.Parallel()
	noSink := testSplit()
	noSink.SinkPort = 0
	for name, spec := range map[string]SplitSpec{"split": testSplit(), "split-no-sink": noSink} {
		got, err := spec.rules(netip.MustParseAddr("198.18.0.3"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".nft")
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
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestParseCountersWantsEveryCounter(t *testing.T) {
	t.Parallel()
	if _, err := parseCounters([]byte(`{"nftables":[{"counter":{"name":"whole","packets":1,"bytes":60}}]}`)); err == nil {
		t.Error("a listing without most counters was accepted")
	}
	if _, err := parseCounters([]byte(`Error: No such file or directory`)); err == nil {
		t.Error("an error message was accepted")
	}
}

func FuzzParseCounters(f *testing.F) {
	f.Add([]byte(`{"nftables":[{"metainfo":{}},{"counter":{"family":"inet","name":"rest","packets":1,"bytes":2}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) { parseCounters(text) })
}

// namedNodes runs programs in network namespaces made by `ip netns`, with the nft
// of this machine.
type namedNodes struct{}

func (namedNodes) Exec(ctx context.Context, node string, stdin io.Reader, argv ...string) (string, error) {
	return command.RunInput(ctx, stdin, append([]string{"ip", "netns", "exec", node}, argv...)...)
}

// splitLab is two namespaces joined by a veth pair: a node with eth0, and what
// is around it. Nothing of it touches the host's own network.
func splitLab(t *testing.T) (node, around string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	for _, program := range []string{"nft", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs the program " + program)
		}
	}
	node, around = "secondhop-test-split", "secondhop-test-around"
	handles := map[string]*netlink.Handle{}
	for _, name := range []string{node, around} {
		handles[name] = newNamespace(t, name)
	}
	peer, err := vnetns.GetFromName(node)
	must(t, err)
	defer peer.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "around0"
	must(t, handles[around].LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(peer))}))
	configure(t, handles[node], "eth0", "198.18.0.3/15")
	configure(t, handles[node], "lo", "198.18.129.7/32")
	configure(t, handles[around], "around0", "198.18.0.2/15", "198.18.130.9/15")
	return node, around
}

func newNamespace(t *testing.T, name string) *netlink.Handle {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := vnetns.Get()
	must(t, err)
	defer own.Close()
	made, err := vnetns.NewNamed(name)
	must(t, err)
	t.Cleanup(func() { must(t, vnetns.DeleteNamed(name)) })
	handle, err := netlink.NewHandleAt(made)
	must(t, err)
	t.Cleanup(handle.Close)
	must(t, made.Close())
	must(t, vnetns.Set(own))
	return handle
}

func configure(t *testing.T, handle *netlink.Handle, device string, addresses ...string) {
	t.Helper()
	link, err := handle.LinkByName(device)
	must(t, err)
	for _, text := range addresses {
		address, err := netlink.ParseAddr(text)
		must(t, err)
		must(t, handle.AddrAdd(link, address))
	}
	must(t, handle.LinkSetUp(link))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// send opens a connection from one namespace to a listener in the other and
// sends size bytes over it.
func send(t *testing.T, from, source, to, target string, size int) {
	t.Helper()
	var listener net.Listener
	var conn net.Conn
	must(t, netns.Do("/run/netns/"+to, func() (err error) {
		listener, err = net.Listen("tcp4", target)
		return err
	}))
	defer listener.Close()
	received := make(chan error, 1)
	go func() {
		peer, err := listener.Accept()
		if err == nil {
			_, err = io.CopyN(io.Discard, peer, int64(size))
			peer.Close()
		}
		received <- err
	}()
	must(t, netns.Do("/run/netns/"+from, func() (err error) {
		local, err := net.ResolveTCPAddr("tcp4", source)
		if err != nil {
			return err
		}
		dialer := net.Dialer{LocalAddr: local, Timeout: 5 * time.Second}
		conn, err = dialer.Dial("tcp4", target)
		return err
	}))
	defer conn.Close()
	_, err := conn.Write(make([]byte, size))
	must(t, err)
	must(t, <-received)
}

func TestSplitTellsClassesApartOnRealPackets(t *testing.T) {
	node, around := splitLab(t)
	ctx := t.Context()
	splitter := NewSplitter(namedNodes{}, map[string]netip.Addr{node: netip.MustParseAddr("198.18.0.3")}, testSplit())
	must(t, splitter.Install(ctx))
	must(t, splitter.Install(ctx)) // replaces the first
	before, err := splitter.Read(ctx)
	must(t, err)

	send(t, around, "198.18.0.2:0", node, "198.18.0.3:80", 10_000)         // hop-one request
	send(t, around, "198.18.0.2:0", node, "198.18.0.3:81", 10_000)         // the same, other frontend
	send(t, around, "198.18.0.2:0", node, "198.18.129.7:8080", 30_000)     // hop-two request to a pod here
	send(t, around, "198.18.130.9:8080", node, "198.18.0.3:40000", 70_000) // from a pod's port: hop-two answer
	send(t, around, "198.18.0.2:0", node, "198.18.0.3:9000", 150_000)      // background
	send(t, around, "198.18.0.2:0", node, "198.18.0.3:6443", 5_000)        // anything else
	send(t, node, "198.18.0.3:0", around, "198.18.0.2:80", 500_000)        // outbound: only its acknowledgements come in

	after, err := splitter.Read(ctx)
	must(t, err)
	split := after[node].Sub(before[node])
	for name, want := range map[string]int64{
		"hop_one_requests": 20_000, "hop_two_requests": 30_000, "hop_two_answers": 70_000, "background": 150_000,
	} {
		got := int64(split.classes()[name].Bytes)
		if got < want || got > want+want/5 {
			t.Errorf("%s: %d bytes, want %d and a few headers", name, got, want)
		}
	}
	if got := split.Unaccounted(); got != 0 {
		t.Errorf("%.4f of the bytes are in no class or in two: %+v", got, split)
	}
	if rest := split.Rest.Bytes; rest < 5_000 || rest > 60_000 {
		t.Errorf("rest is %d bytes", rest)
	}
	must(t, splitter.Remove(ctx))
	must(t, splitter.Remove(ctx))
	if _, err := splitter.Read(ctx); err == nil {
		t.Error("counters are still there after Remove")
	}
}
