package usher

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Config is what the rules can be tuned by. DefaultConfig is what the lab runs.
type Config struct {
	// Domain is the prefix of all labels and annotations.
	Domain string
	// DefaultSlots is the count of an app whose annotation is empty.
	DefaultSlots int
	// AgentPort is the port of the agent in every pod and on every slot Service.
	AgentPort int32
	// Weight of a slot and Range of the draw, for the expected share: a node
	// with n slots keeps n x Weight / max(Range, n x Weight).
	Weight, Range int
	// FreeAtDeletion is the wrong rule, for negative controls only: a pod's
	// number counts as free when its deletion begins and not when it is gone.
	FreeAtDeletion bool
	// WatchDelay makes the view of pods and Services so much older than it is, for
	// tests only. Nothing but the speed may suffer from it.
	WatchDelay time.Duration
}

// MaxSlots bounds the count of slots per app and node.
const MaxSlots = 64

// DefaultConfig is four slots of weight 100 in a draw of 480.
func DefaultConfig() Config {
	return Config{Domain: "eqtv.io", DefaultSlots: 4, AgentPort: 8081, Weight: 100, Range: 480}
}

// Validate says what is wrong with c, naming the flag to change.
func (c Config) Validate() error {
	if problems := validation.IsDNS1123Subdomain(c.Domain); len(problems) > 0 {
		return fmt.Errorf("--label-domain %q: %s", c.Domain, strings.Join(problems, "; "))
	}
	if c.DefaultSlots < 1 || c.DefaultSlots > MaxSlots {
		return fmt.Errorf("--default-slots %d: must be from 1 to %d", c.DefaultSlots, MaxSlots)
	}
	if c.AgentPort < 1 || c.AgentPort > 65535 {
		return fmt.Errorf("--agent-port %d: must be from 1 to 65535", c.AgentPort)
	}
	if c.Weight < 1 || c.Range < 1 {
		return fmt.Errorf("--slot-weight %d, --draw-range %d: must be positive", c.Weight, c.Range)
	}
	return nil
}

// SlotLabel is the pod label that holds the number.
func (c Config) SlotLabel() string { return c.Domain + "/local-slot" }

// SlotsAnnotation on a Service makes it an app and says its count of slots.
func (c Config) SlotsAnnotation() string { return c.Domain + "/local-slots" }

// OwnerLabel is on each slot Service and holds the name of its app.
func (c Config) OwnerLabel() string { return c.Domain + "/local-slots-of" }

// TermAnnotation is what a new leader changes a pod by, to void older writes.
func (c Config) TermAnnotation() string { return c.Domain + "/local-slot-term" }

// SlotServiceName is the name of the Service of one number of an app.
func SlotServiceName(app string, number int) string {
	return app + "-slot-" + strconv.Itoa(number)
}

// appOfSlotName is the app whose slot Service has this name, if any has.
func appOfSlotName(name string) (string, bool) {
	app, number, ok := cutLast(name, "-slot-")
	return app, ok && app != "" && parseNumber(number) >= 0
}

func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// parseSlots reads the annotation's value.
func (c Config) parseSlots(value string) (int, error) {
	if value == "" {
		return c.DefaultSlots, nil
	}
	slots, err := strconv.Atoi(value)
	if err != nil || slots < 1 || slots > MaxSlots {
		return 0, fmt.Errorf("annotation %s=%q: want a count from 1 to %d", c.SlotsAnnotation(), value, MaxSlots)
	}
	return slots, nil
}

// parseNumber reads the value of the slot label; -1 is not a number at all.
func parseNumber(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || strconv.Itoa(n) != value {
		return -1
	}
	return n
}
