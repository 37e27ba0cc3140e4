// Package units holds the two quantities that shaping and byte accounting are
// about, as types, so that bits are never taken for bytes.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// BitRate is a data rate in bits per second.
type BitRate uint64

// The decimal multiples that network cards are sold by.
const (
	BitPerSecond BitRate = 1
	Kilobit              = 1000 * BitPerSecond
	Megabit              = 1000 * Kilobit
	Gigabit              = 1000 * Megabit
)

// Bytes is an amount of data in bytes.
type Bytes int64

// The binary multiples that buffers are sized by.
const (
	Byte     Bytes = 1
	Kibibyte       = 1024 * Byte
	Mebibyte       = 1024 * Kibibyte
	Gibibyte       = 1024 * Mebibyte
)

// rateSuffixes is ordered from the largest so that String finds the shortest form.
var rateSuffixes = []struct {
	suffix string
	unit   BitRate
}{{"gbit", Gigabit}, {"mbit", Megabit}, {"kbit", Kilobit}, {"bit", BitPerSecond}}

// ParseBitRate reads a rate as tc writes it: a positive number and one of
// bit, kbit, mbit, gbit, such as "1gbit" or "2.5mbit". Suffixes in which bits
// and bytes are easily confused ("gb", "MBps") are refused by name.
func ParseBitRate(text string) (BitRate, error) {
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, s := range rateSuffixes {
		number, found := strings.CutSuffix(lower, s.suffix)
		if !found {
			continue
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, badRate(text, "its number cannot be read")
		}
		bits := value * float64(s.unit)
		switch {
		case math.IsNaN(bits) || bits < 1:
			return 0, badRate(text, "it must be at least 1bit")
		case bits > float64(1000*Gigabit):
			return 0, badRate(text, "it must be at most 1000gbit")
		}
		return BitRate(math.Round(bits)), nil
	}
	return 0, badRate(text, "it has no unit of bits per second")
}

func badRate(text, why string) error {
	return fmt.Errorf("rate %q: %s; write it as 100mbit or 1gbit", text, why)
}

// String writes the rate in the largest unit that keeps it a whole number.
func (r BitRate) String() string {
	for _, s := range rateSuffixes {
		if r >= s.unit && r%s.unit == 0 {
			return fmt.Sprintf("%d%s", r/s.unit, s.suffix)
		}
	}
	return fmt.Sprintf("%dbit", uint64(r))
}

// MarshalText makes rates readable in JSON and YAML.
func (r BitRate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseBitRate for decoders.
func (r *BitRate) UnmarshalText(text []byte) error {
	parsed, err := ParseBitRate(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// BytesIn is the data that the rate carries in d, rounded down.
func (r BitRate) BytesIn(d time.Duration) Bytes {
	return Bytes(float64(r) / 8 * d.Seconds())
}

// RateOf is the mean rate of b over d; it is 0 when d is not positive.
func RateOf(b Bytes, d time.Duration) BitRate {
	if d <= 0 || b < 0 {
		return 0
	}
	return BitRate(float64(b) * 8 / d.Seconds())
}

// byteSuffixes is ordered from the largest, as rateSuffixes is.
var byteSuffixes = []struct {
	suffix string
	unit   Bytes
}{{"GiB", Gibibyte}, {"MiB", Mebibyte}, {"KiB", Kibibyte}, {"B", Byte}}

// ParseBytes reads an amount such as "24KiB", "24576" or "24576B".
func ParseBytes(text string) (Bytes, error) {
	number, unit := strings.TrimSpace(text), Byte
	for _, s := range byteSuffixes {
		if rest, found := strings.CutSuffix(number, s.suffix); found {
			number, unit = rest, s.unit
			break
		}
	}
	value, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || value < 0 || value > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("size %q: not an amount of bytes; write it as 24576 or 24KiB", text)
	}
	return Bytes(value) * unit, nil
}

// String writes the amount with at most one decimal in a unit that suits it.
func (b Bytes) String() string {
	for _, s := range byteSuffixes[:3] {
		if b >= s.unit {
			if b%s.unit == 0 {
				return fmt.Sprintf("%d%s", b/s.unit, s.suffix)
			}
			return fmt.Sprintf("%.1f%s", float64(b)/float64(s.unit), s.suffix)
		}
	}
	return fmt.Sprintf("%dB", int64(b))
}
