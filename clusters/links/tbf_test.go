package links

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"secondhop/internal/units"
)

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rate units.BitRate
		want Tbf
	}{
		// limit = rate/8 * 25 ms + burst
		{50 * units.Megabit, Tbf{50 * units.Megabit, 131072, 156250 + 131072}},
		{100 * units.Megabit, Tbf{100 * units.Megabit, 131072, 312500 + 131072}},
		{250 * units.Megabit, Tbf{250 * units.Megabit, 131072, 781250 + 131072}},
		{999 * units.Megabit, Tbf{999 * units.Megabit, 131072, 3121875 + 131072}},
		{units.Gigabit, Tbf{units.Gigabit, 262144, 3125000 + 262144}},
		{10 * units.Gigabit, Tbf{10 * units.Gigabit, 2555904, 31250000 + 2555904}},
	} {
		if diff := cmp.Diff(tc.want, Params(tc.rate)); diff != "" {
			t.Errorf("Params(%s) (-want +got):\n%s", tc.rate, diff)
		}
	}
}

func TestBufferTicks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tbf  Tbf
		want uint32
	}{
		// 131072 B at 100 Mb/s last 10.48576 ms = 163840 ticks of 64 ns.
		{Tbf{Rate: 100 * units.Megabit, Burst: 131072}, 163840},
		// 262144 B at 1 Gb/s last 2.097152 ms.
		{Tbf{Rate: units.Gigabit, Burst: 262144}, 32768},
		{Tbf{Rate: 250 * units.Megabit, Burst: 131072}, 65536},
		// 131072 B at 1 Mb/s last 1.048576 s.
		{Tbf{Rate: units.Megabit, Burst: 131072}, 16384000},
	} {
		got, err := tc.tbf.bufferTicks()
		if err != nil || got != tc.want {
			t.Errorf("bufferTicks(%s) = %d, %v, want %d", tc.tbf, got, err, tc.want)
		}
	}
	for _, tbf := range []Tbf{{Rate: 0, Burst: 1}, {Rate: units.Kilobit, Burst: 128 * units.Kibibyte}} {
		if got, err := tbf.bufferTicks(); err == nil {
			t.Errorf("bufferTicks(%s) = %d, want an error", tbf, got)
		}
	}
}

func TestTicksAndBytesAgreeAtEveryRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := units.BitRate(rapid.Uint64Range(uint64(MinRate), uint64(MaxRate)).Draw(t, "rate"))
		asked := Params(rate)
		ticks, err := asked.bufferTicks()
		if err != nil {
			t.Fatalf("%s: %v", asked, err)
		}
		reported := Tbf{rate, burstOf(rate, ticks), asked.Limit}
		if !asked.sameAs(reported) {
			t.Fatalf("asked for %s (%d B), the kernel would report %d B", asked, asked.Burst, reported.Burst)
		}
		if asked.Burst < rate.BytesIn(time.Millisecond) || asked.Burst < 128*units.Kibibyte {
			t.Fatalf("%s: the bucket is less than a millisecond or 128 KiB", asked)
		}
	})
}

func TestSameAsSeesDifferences(t *testing.T) {
	t.Parallel()
	asked := Params(100 * units.Megabit)
	for name, change := range map[string]func(*Tbf){
		"rate":  func(t *Tbf) { t.Rate += 8 },
		"limit": func(t *Tbf) { t.Limit++ },
		"burst": func(t *Tbf) { t.Burst -= 8 },
	} {
		reported := asked
		change(&reported)
		if asked.sameAs(reported) {
			t.Errorf("a changed %s is taken for the same: %v, %v", name, asked, reported)
		}
	}
}

func TestIdeal(t *testing.T) {
	t.Parallel()
	if share := GoodputShare(); share < 0.95640 || share > 0.95642 {
		t.Errorf("GoodputShare = %f, want 0.9564", share)
	}
	if got := Ideal(units.Gigabit); got != 956406869 {
		t.Errorf("Ideal(1gbit) = %d, want 956406869", uint64(got))
	}
}

func TestValidateRate(t *testing.T) {
	t.Parallel()
	for rate, ok := range map[units.BitRate]bool{0: false, MinRate - 1: false, MinRate: true, units.Gigabit: true, MaxRate + 1: false} {
		if err := ValidateRate(rate); (err == nil) != ok {
			t.Errorf("ValidateRate(%s) = %v, want ok=%v", rate, err, ok)
		}
	}
}
