package cni

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// allowedFile lists what namespaces other than the host's may choose. It exists
// once for the whole machine; what the host's own default is, is always in it.
const allowedFile = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"

// AllowCongestionControl lets namespaces of this machine choose the lab's congestion
// control, which on a host with another default they may not. When it has to
// change the list, it first writes the old one to the file saved, for
// RestoreCongestionControl.
func AllowCongestionControl(saved string) error {
	text, err := os.ReadFile(allowedFile)
	if err != nil {
		return fmt.Errorf("see which congestion controls are allowed: %w", err)
	}
	allowed := strings.Fields(string(text))
	if slices.Contains(allowed, congestionControl) {
		return nil
	}
	if err := os.WriteFile(saved, text, 0o600); err != nil {
		return fmt.Errorf("save which congestion controls are allowed: %w", err)
	}
	changed := strings.Join(append(allowed, congestionControl), " ")
	if err := os.WriteFile(allowedFile, []byte(changed), 0); err != nil {
		return fmt.Errorf("allow congestion control %s: %w", congestionControl, err)
	}
	return nil
}

// RestoreCongestionControl puts back what AllowCongestionControl has changed, if
// it has changed anything.
func RestoreCongestionControl(saved string) error {
	text, err := os.ReadFile(saved)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(allowedFile, text, 0); err != nil {
		return fmt.Errorf("restore which congestion controls are allowed: %w", err)
	}
	return os.Remove(saved)
}
