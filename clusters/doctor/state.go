package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// statePath is where doctor remembers what it changed, so that it can be taken
// back later and by another process.
const statePath = "/var/lib/secondhop/doctor.json"

// changes is what was done to the machine.
type changes struct {
	// Sysctl has the former value of each kernel setting, by its path.
	Sysctl map[string]string `json:"sysctl,omitempty"`
	// Packages were installed; they are not taken back, only named.
	Packages []string `json:"packages,omitempty"`
}

func (c changes) empty() bool { return len(c.Sysctl) == 0 && len(c.Packages) == 0 }

func (m *machine) loadChanges() (changes, error) {
	var c changes
	text, err := os.ReadFile(m.path(statePath))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read what doctor changed: %w", err)
	}
	return c, nil
}

// record adds to what is remembered. It is called before the change is made: a
// change that then fails is undone for nothing, never forgotten.
func (m *machine) record(add func(*changes)) error {
	c, err := m.loadChanges()
	if err != nil {
		return err
	}
	if c.Sysctl == nil {
		c.Sysctl = map[string]string{}
	}
	add(&c)
	slices.Sort(c.Packages)
	c.Packages = slices.Compact(c.Packages)
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("remember what doctor changes: %w", err)
	}
	return m.replace(statePath, append(text, '\n'), 0o644)
}
