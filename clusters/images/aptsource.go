package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"secondhop/internal/failure"
)

// aptSource is a Debian mirror and the keyring that vouches for it.
type aptSource struct{ Mirror, Keyring string }

// debianKeyring is what apt and debootstrap trust when a source names nothing.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// hostSource finds the mirror that the machine itself is installed from, below
// root ("" for the machine itself).
func hostSource(root string) (aptSource, error) {
	release, err := os.ReadFile(filepath.Join(root, "/etc/os-release"))
	if err != nil {
		return aptSource{}, noSource(err)
	}
	codename := shellValue(string(release), "VERSION_CODENAME")
	if shellValue(string(release), "ID") != "debian" || codename == "" {
		return aptSource{}, noSource(errors.New("the machine does not run a release of Debian"))
	}
	files, err := filepath.Glob(filepath.Join(root, "/etc/apt/sources.list.d/*"))
	if err != nil {
		return aptSource{}, noSource(err)
	}
	for _, file := range append([]string{filepath.Join(root, "/etc/apt/sources.list")}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // an absent sources.list is normal on newer releases
		}
		if found, ok := parseSources(string(text), strings.HasSuffix(file, ".sources"), codename); ok {
			return found, nil
		}
	}
	return aptSource{}, noSource(fmt.Errorf("no apt source offers main of %s over http", codename))
}

func noSource(err error) error {
	return failure.Infra(fmt.Errorf("find a Debian mirror: %w", err),
		"run on Debian 12 or newer with an ordinary apt configuration, or on a machine that can pull kindest/node")
}

// shellValue reads NAME=value of a file such as os-release.
func shellValue(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

// parseSources finds the source of a suite's main component in an apt sources
// file, in either of its two formats.
func parseSources(text string, deb822 bool, suite string) (aptSource, bool) {
	entries := oneLineEntries(text)
	if deb822 {
		entries = stanzaEntries(text)
	}
	for _, e := range entries {
		usable := slices.Contains(e["types"], "deb") && slices.Contains(e["suites"], suite) &&
			slices.Contains(e["components"], "main") && !slices.Equal(e["enabled"], []string{"no"})
		if !usable {
			continue
		}
		for _, uri := range e["uris"] {
			if !strings.HasPrefix(uri, "http://") && !strings.HasPrefix(uri, "https://") {
				continue
			}
			keyring := debianKeyring
			if signed := e["signed-by"]; len(signed) > 0 && strings.HasPrefix(signed[0], "/") {
				keyring = signed[0]
			}
			return aptSource{Mirror: strings.TrimRight(uri, "/"), Keyring: keyring}, true
		}
	}
	return aptSource{}, false
}

// stanzaEntries reads the deb822 format: fields, continued by indentation, in
// stanzas parted by blank lines.
func stanzaEntries(text string) []map[string][]string {
	entry := map[string][]string{}
	entries := []map[string][]string{entry}
	field := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			entry = map[string][]string{}
			entries = append(entries, entry)
		case line[0] == ' ' || line[0] == '\t':
			entry[field] = append(entry[field], strings.Fields(line)...)
		default:
			name, value, _ := strings.Cut(line, ":")
			field = strings.ToLower(strings.TrimSpace(name))
			entry[field] = strings.Fields(value)
		}
	}
	return entries
}

// oneLineEntries reads the older format: deb [options] uri suite component...
func oneLineEntries(text string) []map[string][]string {
	var entries []map[string][]string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		entry := map[string][]string{}
		if before, rest, found := strings.Cut(line, "["); found {
			options, after, _ := strings.Cut(rest, "]")
			for _, option := range strings.Fields(options) {
				name, value, _ := strings.Cut(option, "=")
				entry[strings.ToLower(name)] = strings.Split(value, ",")
			}
			line = before + " " + after
		}
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		entry["types"], entry["uris"], entry["suites"], entry["components"] = words[:1], words[1:2], words[2:3], words[3:]
		entries = append(entries, entry)
	}
	return entries
}
