package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// probeArgument makes the program end with success at once: inside a privileged
// container that is the whole proof that such containers start.
const probeArgument = "probe"

// target is the file that a runtime command takes its process from.
type target struct {
	path string
	// whole says that the process is a field of the file (config.json), not the
	// file itself (the --process file of exec).
	whole bool
}

// globalValueFlags are runc's flags before the command that take a value.
var globalValueFlags = map[string]bool{
	"--root": true, "--log": true, "--log-format": true, "--rootless": true, "--criu": true,
}

// findTarget finds the file that a runc command line makes a process from: the
// bundle's config.json for create and run, the --process file for exec.
func findTarget(args []string) (target, bool) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case globalValueFlags[arg]:
			i++
		case strings.HasPrefix(arg, "-"):
		case arg == "create" || arg == "run":
			bundle := flagValue(args[i+1:], "bundle", "b")
			return target{filepath.Join(bundle, "config.json"), true}, true
		case arg == "exec":
			process := flagValue(args[i+1:], "process", "p")
			return target{process, false}, process != ""
		default:
			return target{}, false
		}
	}
	return target{}, false
}

// flagValue reads a flag in any of the forms that runc accepts; "" if absent.
func flagValue(args []string, long, short string) string {
	for i, arg := range args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || name != long && name != short {
			continue
		}
		if joined {
			return value
		}
		if i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// capabilityNames are the Linux capabilities in the order of their bits; see
// include/uapi/linux/capability.h.
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
	SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
	AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// boundingSet reads the capabilities that a process can ever give to another
// from its /proc/PID/status.
func boundingSet(status string) (map[string]bool, error) {
	for line := range strings.Lines(status) {
		hex, found := strings.CutPrefix(line, "CapBnd:")
		if !found {
			continue
		}
		bits, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read the capability bounding set: %w", err)
		}
		set := map[string]bool{}
		for i, name := range capabilityNames {
			set["CAP_"+name] = bits&(1<<i) != 0
		}
		return set, nil
	}
	return nil, fmt.Errorf("read the capability bounding set: no CapBnd line")
}

// rewriteFile takes what is not in allowed out of the file's capability lists.
// The file is replaced in one step and keeps its mode.
func rewriteFile(t target, allowed map[string]bool) error {
	info, err := os.Stat(t.path)
	if err != nil {
		return fmt.Errorf("limit capabilities: %w", err)
	}
	before, err := os.ReadFile(t.path)
	if err != nil {
		return fmt.Errorf("limit capabilities: %w", err)
	}
	after, err := rewrite(before, t.whole, allowed)
	if err != nil {
		return fmt.Errorf("limit capabilities in %s: %w", t.path, err)
	}
	draft := t.path + ".capdrop"
	if err := os.WriteFile(draft, after, info.Mode().Perm()); err != nil {
		return fmt.Errorf("limit capabilities: %w", err)
	}
	if err := os.Rename(draft, t.path); err != nil {
		return fmt.Errorf("limit capabilities: %w", err)
	}
	return nil
}

// rewrite edits only the capability lists; every other field keeps its bytes.
// A configuration without capabilities comes back as it is. A capability that
// allowed does not know at all stays: it is newer than this table.
func rewrite(document []byte, whole bool, allowed map[string]bool) ([]byte, error) {
	if whole {
		return editField(document, "process", func(process json.RawMessage) (json.RawMessage, error) {
			return rewrite(process, false, allowed)
		})
	}
	return editField(document, "capabilities", func(raw json.RawMessage) (json.RawMessage, error) {
		var lists map[string][]string
		if err := json.Unmarshal(raw, &lists); err != nil {
			return nil, err
		}
		for kind, names := range lists {
			kept := make([]string, 0, len(names))
			for _, name := range names {
				if has, known := allowed[name]; has || !known {
					kept = append(kept, name)
				}
			}
			lists[kind] = kept
		}
		return json.Marshal(lists)
	})
}

func editField(document []byte, name string, edit func(json.RawMessage) (json.RawMessage, error)) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, err
	}
	if raw, present := fields[name]; !present || string(raw) == "null" {
		return document, nil
	}
	edited, err := edit(fields[name])
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", name, err)
	}
	fields[name] = edited
	return json.Marshal(fields)
}
