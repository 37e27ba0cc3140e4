package checks

import (
	"context"
	"fmt"
	"strconv"

	"secondhop/internal/deploy"
	"secondhop/internal/measure"
	"secondhop/internal/observe"
)

// SlotUnique are the parameters of slot_unique.
type SlotUnique struct {
	Slots int `yaml:"slots" doc:"slots of each node; numbers from that on are wrong"`
}

// Validate says what is wrong with the parameters.
func (p SlotUnique) Validate() error {
	if p.Slots < 1 {
		return fmt.Errorf("slots %d: want at least 1", p.Slots)
	}
	return nil
}

func slotUniqueKind() Kind {
	return newKind("slot_unique", "No two pods of a node ever have the same slot, neither by label nor in a slot's EndpointSlice, and no number is too great.",
		SlotUnique{Slots: deploy.DefaultSlots},
		func(_ context.Context, in Input, p SlotUnique) ([]measure.Assertion, error) {
			labels, slices := in.Outcome.Observed.Pods, in.Outcome.Observed.Slots
			return []measure.Assertion{
				in.unique("pods that carry the same slot", labels.Coverage, labels.Violations),
				in.unique("slot EndpointSlices with two pods of a node", slices.Coverage, slices.Violations),
				p.inRange(in),
			}, nil
		})
}

// unique is that a watch which missed nothing saw no violation in the window.
func (in Input) unique(what string, coverage observe.Coverage, violations []observe.SlotViolation) measure.Assertion {
	const id = "slot_unique"
	var seen []observe.SlotViolation
	for _, violation := range violations {
		if in.Window.Contains(in.Outcome.Clock().FromWall(violation.At)) {
			seen = append(seen, violation)
		}
	}
	switch {
	case len(seen) == 0 && !coverage.Complete():
		return measure.CannotTell(id, in.of(what), fmt.Sprintf("the watch lost %d stretches of changes", coverage.Relists))
	case len(in.slotted()) == 0:
		return measure.CannotTell(id, in.of(what), "no pod had a slot")
	}
	a := measure.Equal(id, in.of(what), "count", float64(len(seen)), 0)
	a.N = int64(coverage.Events)
	if len(seen) > 0 {
		a.Detail = seen[0].String()
	}
	return a
}

// slotted are the pods that had a slot.
func (in Input) slotted() []podLife {
	var pods []podLife
	for _, pod := range in.Outcome.Observed.Pods.Pods {
		if pod.Slot != "" {
			pods = append(pods, pod)
		}
	}
	return pods
}

// inRange is that every slot is a number that there is.
func (p SlotUnique) inRange(in Input) measure.Assertion {
	const id, subject = "slot_unique", "pods with a slot that there is not"
	pods := in.slotted()
	if len(pods) == 0 {
		return measure.CannotTell(id, subject, "no pod had a slot")
	}
	wrong, detail := 0, ""
	for _, pod := range pods {
		if slot, err := strconv.Atoi(pod.Slot); err != nil || slot < 0 || slot >= p.Slots {
			wrong++
			detail = fmt.Sprintf("%s on %s carries %q", pod.Name, pod.Node, pod.Slot)
		}
	}
	a := measure.Equal(id, subject, "count", float64(wrong), 0)
	a.N, a.Detail = int64(len(pods)), detail
	return a
}
