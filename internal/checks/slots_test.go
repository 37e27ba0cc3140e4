package checks

import (
	"testing"
	"time"

	"secondhop/internal/measure"
	"secondhop/internal/observe"
	"secondhop/internal/trial"
)

func TestSlotUnique(t *testing.T) {
	t.Parallel()
	twice := func(o *trial.Outcome) {
		at := o.Clock().ToWall(12 * time.Second)
		o.Observed.Pods.Violations = []observe.SlotViolation{{At: at, Service: "label", Node: "w1", Pods: []string{"a", "b"}}}
	}
	inSlice := func(o *trial.Outcome) {
		at := o.Clock().ToWall(12 * time.Second)
		o.Observed.Slots.Violations = []observe.SlotViolation{{At: at, Service: "my-app-slot-0", Node: "w1", Pods: []string{"a", "b"}}}
	}
	before := func(in *Input) { in.Window = measure.Window{To: 10 * time.Second} }
	judgeAll(t, slotUniqueKind(), []judgement{
		{"unique", sample{}, nil, nil, measure.Pass},
		{"a label twice", sample{observed: twice}, nil, nil, measure.Fail},
		{"a slot with two pods", sample{observed: inSlice}, nil, nil, measure.Fail},
		{"twice, later", sample{observed: twice}, nil, before, measure.Pass},
		{"a number too great", sample{}, &SlotUnique{Slots: 1}, nil, measure.Fail},
		{"changes were lost", sample{observed: func(o *trial.Outcome) { o.Observed.Pods.Relists = 1 }}, nil, nil, measure.Inconclusive},
		{"no slots", sample{observed: func(o *trial.Outcome) {
			for i := range o.Observed.Pods.Pods {
				o.Observed.Pods.Pods[i].Slot = ""
			}
		}}, nil, nil, measure.Inconclusive},
	})
}

func TestNoTrafficTo(t *testing.T) {
	t.Parallel()
	// The first pod of w1 is told to end at second 12; the sample goes on using it.
	ending := sample{events: 1, observed: func(o *trial.Outcome) { o.Observed.Pods.Pods[0].Deleting = o.Clock().ToWall(12 * time.Second) }}
	until := func(end time.Duration) func(*Input) {
		return func(in *Input) { in.Window = measure.Window{To: end} }
	}
	all := &NoTrafficTo{Pods: PodChoice{Which: podsAll}, From: fromEvent, Since: "event 1", Delay: 15 * time.Second}
	judgeAll(t, noTrafficToKind(), []judgement{
		{"goes on", ending, nil, nil, measure.Fail},
		{"until then only", ending, nil, until(12 * time.Second), measure.Pass},
		{"within the delay", ending, &NoTrafficTo{Pods: PodChoice{Which: podsDeleted}, From: fromDeleting, Delay: 2 * time.Second}, until(14 * time.Second), measure.Pass},
		{"past the delay", ending, &NoTrafficTo{Pods: PodChoice{Which: podsDeleted}, From: fromDeleting, Delay: 2 * time.Second}, until(15 * time.Second), measure.Fail},
		{"after an event", sample{events: 1}, all, nil, measure.Fail},
		{"after an event, the run over", sample{events: 1}, all, until(25 * time.Second), measure.Pass},
		{"the event did not happen", sample{events: 1}, all, func(in *Input) { in.Outcome.Events = nil }, measure.NotProvoked},
		{"no pod ended", sample{}, nil, nil, measure.Inconclusive},
		{"nothing was sent", ending, nil, nothing, measure.Inconclusive},
	})
}
