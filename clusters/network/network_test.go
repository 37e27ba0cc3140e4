package network

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"secondhop/internal/failure"
)

func TestBridgeNamesFitTheKernel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "secondhop", "abcdefghijkl", "abcdefghijklm", "secondhop-of-somebody-else"} {
		if got := bridge(name); len(got) > 15 || !strings.HasPrefix(got, "br-") {
			t.Errorf("bridge(%q) = %q", name, got)
		}
	}
	if bridge("secondhop") != "br-secondhop" {
		t.Errorf("bridge(secondhop) = %q", bridge("secondhop"))
	}
	if bridge("secondhop-one") == bridge("secondhop-two") {
		t.Error("two names share a device")
	}
}

func TestParseRefused(t *testing.T) {
	t.Parallel()
	const listing = `Chain DOCKER-USER (1 references)
    pkts      bytes target     prot opt in     out     source               destination
       7      420 REJECT     all  --  br-secondhop !br-secondhop  0.0.0.0/0            0.0.0.0/0            reject-with icmp-port-unreachable
     123      456 RETURN     all  --  *      *       0.0.0.0/0            0.0.0.0/0
`
	if got, found := parseRefused(listing, "br-secondhop"); got != 7 || !found {
		t.Errorf("parseRefused = %d, %v, want 7", got, found)
	}
	for _, bridge := range []string{"br-second", "*", ""} {
		if got, found := parseRefused(listing, bridge); found {
			t.Errorf("parseRefused for %q found %d", bridge, got)
		}
	}
}

func FuzzParseRefused(f *testing.F) {
	f.Add("       7      420 REJECT     all  --  br-x !br-x  0.0.0.0/0            0.0.0.0/0\n")
	f.Fuzz(func(t *testing.T, listing string) {
		if packets, found := parseRefused(listing, "br-x"); !found && packets != 0 {
			t.Errorf("not found, but %d packets", packets)
		}
	})
}

func TestJudge(t *testing.T) {
	t.Parallel()
	refused := Attempt{From: "worker", Err: unix.ECONNREFUSED, Took: time.Millisecond}
	for _, tc := range []struct {
		name     string
		attempts []Attempt
		counted  uint64
		want     string
	}{
		{"refused at once", []Attempt{refused, refused}, 2, ""},
		{"got out", []Attempt{refused, {From: "client"}}, 2, "client reached an address outside the lab"},
		{"dropped", []Attempt{{From: "client", Err: errors.New("i/o timeout")}}, 1, "client was not refused"},
		{"slow", []Attempt{{From: "client", Err: unix.ECONNREFUSED, Took: time.Second}}, 1, "only after 1s"},
		{"refused by something else", []Attempt{refused, refused}, 1, "counted 1 refusals for 2 attempts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := judge(tc.attempts, tc.counted)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("judge = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestParseNetwork(t *testing.T) {
	t.Parallel()
	got, err := parseNetwork(`{"Id":"abc","Labels":{"io.secondhop.lab":"secondhop"},"IPAM":{"Config":[{"Subnet":"198.18.0.0/24"}]},
		"Containers":{"1":{"Name":"secondhop-worker"}}}`)
	if err != nil || got.ID != "abc" || len(got.Containers) != 1 || !got.overlaps(Range()) {
		t.Errorf("parseNetwork = %+v, %v", got, err)
	}
	if _, err := parseNetwork("[]"); err == nil {
		t.Error("a list passes for a network")
	}
}

func TestNameInUseSaysWhatToDo(t *testing.T) {
	t.Parallel()
	err := nameInUse("kind")
	if failure.ExitCode(err) != 2 || !strings.Contains(failure.Cure(err), "--name") {
		t.Errorf("error = %v, cure %q", err, failure.Cure(err))
	}
}
