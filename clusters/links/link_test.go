package links

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"

	"secondhop/internal/units"
)

// pair makes a network namespace with an eth0 whose other end is in the test's
// namespace, as Docker does for a container, with one address at each end.
func pair(t *testing.T, name, hostAddress, insideAddress string) *Link {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	path := namespace(t, name)
	host := "vt" + name
	peer, err := vnetns.GetFromPath(path)
	must(t, err)
	defer peer.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = host
	t.Cleanup(func() {
		if link, err := netlink.LinkByName(host); err == nil {
			must(t, netlink.LinkDel(link))
		}
	})
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: device, PeerNamespace: netlink.NsFd(int(peer))}))
	handle, err := netlink.NewHandleAt(peer)
	must(t, err)
	defer handle.Close()
	address(t, handle, device, insideAddress)
	outside, err := netlink.NewHandle()
	must(t, err)
	defer outside.Close()
	address(t, outside, host, hostAddress)

	link, err := OpenAt(name, path)
	must(t, err)
	t.Cleanup(link.Close)
	return link
}

func address(t *testing.T, handle *netlink.Handle, device, text string) {
	t.Helper()
	link, err := handle.LinkByName(device)
	must(t, err)
	if text != "" {
		parsed, err := netlink.ParseAddr(text)
		must(t, err)
		must(t, handle.AddrAdd(link, parsed))
	}
	must(t, handle.LinkSetUp(link))
}

// namespace makes a network namespace that has a name, and returns its path.
func namespace(t *testing.T, name string) string {
	t.Helper()
	name = "secondhop-test-" + name
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := vnetns.Get()
	must(t, err)
	defer own.Close()
	made, err := vnetns.NewNamed(name)
	must(t, err)
	must(t, made.Close())
	t.Cleanup(func() { must(t, vnetns.DeleteNamed(name)) })
	must(t, vnetns.Set(own))
	return "/run/netns/" + name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestKernelTakesEveryRateAsMeant(t *testing.T) {
	link := pair(t, "rates", "", "")
	for _, rate := range []units.BitRate{
		MinRate, 3333333, 50 * units.Megabit, 100 * units.Megabit, 250 * units.Megabit,
		units.Gigabit, 2500 * units.Megabit, MaxRate, // the last needs the 64 bit rate
	} {
		must(t, link.Shape(Both(rate)))
		in, out, err := link.Filters()
		must(t, err)
		if want := Params(rate); !want.sameAs(in) || !want.sameAs(out) {
			t.Errorf("%s: the kernel has %s and %s, want %s", rate, in, out, want)
		}
	}
}

func TestDirectionsAreIndependent(t *testing.T) {
	link := pair(t, "dirs", "", "")
	must(t, link.Shape(Rates{In: 50 * units.Megabit}))
	in, out, err := link.Filters()
	must(t, err)
	if in.Rate != 50*units.Megabit || out != (Tbf{}) {
		t.Errorf("shaped to %s in and %s out, want 50mbit in only", in, out)
	}
	if _, err := link.Counters(); err == nil || !strings.Contains(err.Error(), "out of it: the link is not shaped") {
		t.Errorf("Counters of a half shaped link: %v", err)
	}
	must(t, link.Shape(Rates{Out: units.Gigabit}))
	in, out, err = link.Filters()
	must(t, err)
	if in != (Tbf{}) || out.Rate != units.Gigabit {
		t.Errorf("shaped to %s in and %s out, want 1gbit out only", in, out)
	}
}

func TestClearRestoresTheDefault(t *testing.T) {
	link := pair(t, "clear", "", "")
	kind := func() string {
		qdiscs, err := link.in.handle.QdiscList(link.in.link)
		must(t, err)
		if len(qdiscs) == 0 {
			return "none"
		}
		return qdiscs[0].Type()
	}
	before := kind()
	must(t, link.Shape(Both(units.Gigabit)))
	if kind() != "tbf" {
		t.Fatalf("the root is a %s after Shape", kind())
	}
	must(t, link.Clear())
	must(t, link.Clear())
	if got := kind(); got != before {
		t.Errorf("the root is %s after Clear, was %s", got, before)
	}
}

func TestShapeRefusesRatesOutOfRange(t *testing.T) {
	link := pair(t, "range", "", "")
	err := link.Shape(Both(MaxRate + 1))
	if err == nil || !strings.Contains(err.Error(), "must be between 1mbit and 40gbit") {
		t.Errorf("error = %v", err)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := OpenAt("ghost", "/run/netns/no-such-namespace"); err == nil || !strings.Contains(err.Error(), "link of ghost") {
		t.Errorf("error = %v", err)
	}
}
