package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// runtimeName is the name under which the engine knows our runtime.
const runtimeName = "secondhop"

// The fields of the engine's daemon.json that are ours to touch.
const (
	runtimesField       = "runtimes"
	defaultRuntimeField = "default-runtime"
)

// addRuntime gives the engine's configuration with our runtime registered and
// made the default; everything else in it stays. A nil or blank text is an
// engine without a configuration file.
func addRuntime(text []byte, path string) ([]byte, error) {
	fields, runtimes, err := parseDaemonJSON(text)
	if err != nil {
		return nil, err
	}
	if runtimes[runtimeName], err = json.Marshal(map[string]string{"path": path}); err != nil {
		return nil, err
	}
	if fields[runtimesField], err = json.Marshal(runtimes); err != nil {
		return nil, err
	}
	fields[defaultRuntimeField] = json.RawMessage(`"` + runtimeName + `"`)
	return printDaemonJSON(fields)
}

// removeRuntime takes addRuntime back. before is the file as it was then; the
// result is before to the byte unless the file was edited in between, and nil
// when no file would be left and there was none before.
func removeRuntime(text, before []byte) ([]byte, error) {
	fields, runtimes, err := parseDaemonJSON(text)
	if err != nil {
		return nil, err
	}
	old, _, err := parseDaemonJSON(before)
	if err != nil {
		return nil, err
	}
	delete(runtimes, runtimeName)
	if fields[runtimesField], err = json.Marshal(runtimes); err != nil {
		return nil, err
	}
	if len(runtimes) == 0 && old[runtimesField] == nil {
		delete(fields, runtimesField)
	}
	if string(fields[defaultRuntimeField]) == `"`+runtimeName+`"` {
		delete(fields, defaultRuntimeField)
		if old[defaultRuntimeField] != nil {
			fields[defaultRuntimeField] = old[defaultRuntimeField]
		}
	}
	after, err := printDaemonJSON(fields)
	if err != nil {
		return nil, err
	}
	asItWas, err := printDaemonJSON(old)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(after, asItWas) {
		return before, nil
	}
	return after, nil
}

func parseDaemonJSON(text []byte) (fields, runtimes map[string]json.RawMessage, err error) {
	fields, runtimes = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if len(bytes.TrimSpace(text)) == 0 {
		return fields, runtimes, nil
	}
	// The decoder would replace what is not UTF-8, and so change what is not ours.
	if !utf8.Valid(text) {
		return nil, nil, errors.New("read the engine's configuration: it is not UTF-8 text")
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, nil, fmt.Errorf("read the engine's configuration: %w", err)
	}
	if raw := fields[runtimesField]; raw != nil {
		if err := json.Unmarshal(raw, &runtimes); err != nil {
			return nil, nil, fmt.Errorf("read the engine's configuration: field %q: %w", runtimesField, err)
		}
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if runtimes == nil {
		runtimes = map[string]json.RawMessage{}
	}
	return fields, runtimes, nil
}

func printDaemonJSON(fields map[string]json.RawMessage) ([]byte, error) {
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the engine's configuration: %w", err)
	}
	return append(text, '\n'), nil
}

// stockRuntime is the engine's default runtime when its file names none.
const stockRuntime = "runc"

// explicitDefault names the default runtime of a configuration, and gives the
// configuration with it spelt out: on reload the engine takes an absent field
// for "as before", not for "back to normal".
func explicitDefault(text []byte) (name string, explicit []byte, err error) {
	fields, _, err := parseDaemonJSON(text)
	if err != nil {
		return "", nil, err
	}
	name = stockRuntime
	if raw := fields[defaultRuntimeField]; raw != nil {
		if err := json.Unmarshal(raw, &name); err != nil {
			return "", nil, fmt.Errorf("read the engine's configuration: field %q: %w", defaultRuntimeField, err)
		}
	}
	if fields[defaultRuntimeField], err = json.Marshal(name); err != nil {
		return "", nil, err
	}
	explicit, err = printDaemonJSON(fields)
	return name, explicit, err
}
