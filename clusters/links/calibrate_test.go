package links

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"secondhop/clusters/netns"
	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// calibrationPair is a shaped veth pair and the two ends of a transfer over it.
func calibrationPair(t *testing.T, name, network string) (link *Link, peer, node Endpoint) {
	t.Helper()
	link = pair(t, name, network+".1/24", network+".2/24")
	peer = Endpoint{Name: "host", NetNS: netns.Host, Address: netip.MustParseAddr(network + ".1")}
	node = Endpoint{Name: name, NetNS: link.path, Address: netip.MustParseAddr(network + ".2")}
	return link, peer, node
}

func TestCalibrateReachesTheIdealGoodput(t *testing.T) {
	if testing.Short() {
		t.Skip("sends for twelve seconds")
	}
	link, peer, node := calibrationPair(t, "goodput", "198.19.254")
	for _, rate := range []units.BitRate{100 * units.Megabit, 250 * units.Megabit, units.Gigabit} {
		must(t, link.Shape(Both(rate)))
		result, err := Calibrate(t.Context(), peer, []Endpoint{node}, DefaultPlan())
		must(t, err)
		if len(result.Goodputs) != 2 {
			t.Fatalf("%d results, want both directions", len(result.Goodputs))
		}
		for _, g := range result.Goodputs {
			t.Logf("%s %s: %.3f %% of ideal, wire %.2f Mb/s, %s, %d drops, idle %.0f %%", rate, g.Direction,
				g.Ratio()*100, float64(g.Wire)/1e6, g.Congestion, g.Drops, g.HostIdle*100)
			busy := g.HostIdle < MinIdle
			if off := math.Abs(g.Ratio() - 1); off > Tolerance && busy {
				t.Skipf("the processors are busy (%.0f %% idle): no verdict about links", g.HostIdle*100)
			}
			if wire := float64(g.Wire) / float64(rate); math.Abs(wire-1) > Tolerance && !busy {
				t.Errorf("%s %s: the filter counted %.3f of the rate", rate, g.Direction, wire)
			}
		}
		must(t, result.Verdict())
	}
}

func TestCalibrateSeesAWrongRate(t *testing.T) {
	link, peer, node := calibrationPair(t, "wrong", "198.19.253")
	must(t, link.Shape(Both(20*units.Megabit)))
	result, err := Calibrate(t.Context(), peer, []Endpoint{node}, Plan{200 * time.Millisecond, 300 * time.Millisecond})
	must(t, err)
	for i := range result.Goodputs { // what a link would show that is 3 % slower than it says
		result.Goodputs[i].Ideal = result.Goodputs[i].Measured * 103 / 100
	}
	err = result.Verdict()
	if failure.ExitCode(err) != int(failure.Infrastructure) || !strings.Contains(err.Error(), "(97.1 %") {
		t.Errorf("verdict on a link 3 %% too slow: %v", err)
	}
}

func TestCalibrateRefusesAnUnshapedLink(t *testing.T) {
	_, peer, node := calibrationPair(t, "unshaped", "198.19.252")
	_, err := Calibrate(t.Context(), peer, []Endpoint{node}, DefaultPlan())
	if err == nil || !strings.Contains(err.Error(), "unshaped, in: the link is not shaped") {
		t.Errorf("error = %v", err)
	}
}

func TestCalibrateEndsWithItsContext(t *testing.T) {
	link, peer, node := calibrationPair(t, "cancel", "198.19.251")
	must(t, link.Shape(Both(MinRate)))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Calibrate(ctx, peer, []Endpoint{node}, Plan{WarmUp: time.Minute, Window: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("error = %v after %s", err, time.Since(start))
	}
}

func TestVerdictOnNothingIsNoSuccess(t *testing.T) {
	t.Parallel()
	if err := (Calibration{}).Verdict(); err == nil {
		t.Error("an empty calibration passes")
	}
}

func TestParseProcessorTimes(t *testing.T) {
	t.Parallel()
	got, err := parseProcessorTimes("cpu  10 1 20 300 40 0 5 6 7 8\ncpu0 1\n")
	if want := (processorTimes{idle: 340, total: 382}); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h i"} {
		if got, err := parseProcessorTimes(bad); err == nil {
			t.Errorf("parseProcessorTimes(%q) = %+v, want an error", bad, got)
		}
	}
}

func FuzzParseProcessorTimes(f *testing.F) {
	f.Add("cpu  10 1 20 300 40 0 5 6 7 8\n")
	f.Fuzz(func(t *testing.T, stat string) {
		if times, err := parseProcessorTimes(stat); err == nil && times.idle > times.total {
			// The kernel's sums never wrap; text made up to wrap them may.
			t.Skip()
		}
	})
}

// No machine is idle for more than all of the time.
func TestAwaitQuietGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := AwaitQuiet(ctx, 1.5); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("AwaitQuiet = %v, want it to give up", err)
	}
}
