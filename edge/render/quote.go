package render

import (
	"fmt"
	"strings"
	"unicode"
)

// quote makes one word of text that the configuration's parser does not
// interpret: inside single quotes nothing is special but the quote.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// word refuses what cannot stand unquoted in a configuration.
func word(text string) error {
	if text == "" {
		return fmt.Errorf("empty name")
	}
	for _, r := range text {
		if !strings.ContainsRune("-_.:*/[]", r) && !(r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))) {
			return fmt.Errorf("%q has the character %q", text, r)
		}
	}
	return nil
}

// oneLine refuses what cannot stand on one line, even quoted.
func oneLine(text string) error {
	if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
		return fmt.Errorf("%q has a control character", text)
	}
	return nil
}

func (c Config) validate() error {
	for _, text := range []string{c.Process.Bind, c.Process.PlainBind, c.Process.StatsSocket, c.Process.StateFile} {
		if err := word(text); err != nil {
			return fmt.Errorf("render process: %w", err)
		}
	}
	if err := oneLine(c.Process.Node); err != nil {
		return fmt.Errorf("render process: node: %w", err)
	}
	for _, r := range c.Routes {
		for _, text := range []string{r.Host, r.Path, r.Backend, r.Plain} {
			if err := oneLine(text); err != nil {
				return fmt.Errorf("render route of host %q: %w", r.Host, err)
			}
		}
	}
	for _, b := range c.Backends {
		if err := oneLine(b.Name); err != nil {
			return fmt.Errorf("render backend: %w", err)
		}
		if err := validSlots(b.Slots); err != nil {
			return fmt.Errorf("render backend %s: %w", b.Name, err)
		}
	}
	return nil
}

func validSlots(slots []Slot) error {
	for _, slot := range slots {
		if err := word(slot.Address); err != nil {
			return fmt.Errorf("address of %s: %w", slot.Name(), err)
		}
	}
	return nil
}
