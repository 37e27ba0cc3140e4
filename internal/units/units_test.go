package units

import (
	"strings"
	"testing"
	"time"
)

func TestParseBitRate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want BitRate
		err  string
	}{
		{text: "1gbit", want: Gigabit},
		{text: "100mbit", want: 100 * Megabit},
		{text: " 250Mbit ", want: 250 * Megabit},
		{text: "2.5mbit", want: 2500 * Kilobit},
		{text: "9bit", want: 9},
		{text: "1gb", err: "no unit"},
		{text: "1000", err: "no unit"},
		{text: "-5mbit", err: "at least 1bit"},
		{text: "0", err: "no unit"},
		{text: "0mbit", err: "at least 1bit"},
		{text: "nanmbit", err: "at least 1bit"},
		{text: "infgbit", err: "at most"},
		{text: "1e9gbit", err: "at most"},
		{text: "mbit", err: "cannot be read"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			got, err := ParseBitRate(tc.text)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "100mbit") {
					t.Fatalf("ParseBitRate(%q) error = %v, want %q and the cure", tc.text, err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Fatalf("ParseBitRate(%q) = %v, %v, want %v", tc.text, got, err, tc.want)
			}
		})
	}
}

func FuzzParseBitRate(f *testing.F) {
	for _, seed := range []string{"1gbit", "2.5mbit", "0x1p-2kbit", "1gb", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, err := ParseBitRate(text)
		if err != nil {
			return
		}
		again, err := ParseBitRate(rate.String())
		if err != nil || again != rate {
			t.Fatalf("%q parsed to %v, which parses to %v, %v", text, rate, again, err)
		}
	})
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Bytes{"24KiB": 24576, "24576": 24576, "7B": 7, "2MiB": 2 * Mebibyte} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1kb", "99999999999GiB"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %v, want an error", text, got)
		}
	}
	if got := (24 * Kibibyte).String(); got != "24KiB" {
		t.Errorf("String = %q", got)
	}
}

func TestRateAndBytesAgree(t *testing.T) {
	t.Parallel()
	if got := Gigabit.BytesIn(time.Millisecond); got != 125_000 {
		t.Errorf("1 Gb/s carries %d bytes in 1 ms, want 125000", got)
	}
	if got := RateOf(125_000, time.Millisecond); got != Gigabit {
		t.Errorf("125000 bytes in 1 ms are %v, want 1gbit", got)
	}
	if got := RateOf(1, 0); got != 0 {
		t.Errorf("a rate over no time is %v, want 0", got)
	}
}
