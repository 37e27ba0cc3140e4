package checks

import (
	"fmt"
	"math"

	"secondhop/internal/failure"
	"secondhop/internal/measure"
	"secondhop/internal/observe"
)

// subject says what part of the run was looked at.
func (in Input) subject() string {
	if in.Phase == "" {
		return "whole run"
	}
	return string(in.Phase) + " the events"
}

// of is the subject of a part of the system: "w1, during the events".
func (in Input) of(part string) string {
	if in.Phase == "" {
		return part
	}
	return part + ", " + in.subject()
}

// provoked reports whether everything that was planned happened.
func (in Input) provoked() bool {
	happened := map[string]bool{}
	for _, event := range in.Outcome.Events {
		happened[event.Planned] = true
	}
	for _, planned := range in.Outcome.Spec.Events {
		if !happened[planned.Name] {
			return false
		}
	}
	return true
}

// tally counts the requests of the window.
func (in Input) tally() (*measure.Tally, error) {
	return in.Outcome.Tally(in.Window)
}

// present are the pods that were there for the whole window.
func (in Input) present() []observe.PodLife {
	clock := in.Outcome.Clock()
	end := in.Window.To
	if end == 0 {
		end = in.Outcome.End()
	}
	var pods []observe.PodLife
	for _, pod := range in.Outcome.Observed.Pods.Pods {
		gone := pod.Deleting
		if gone.IsZero() {
			gone = pod.Gone
		}
		there := pod.Before || !pod.Ready.IsZero() && clock.FromWall(pod.Ready) <= in.Window.From
		if there && (gone.IsZero() || clock.FromWall(gone) >= end) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// nodes are the names of workers by their numbers, from 1; no numbers are all.
func (in Input) nodes(numbers []int) ([]string, error) {
	if len(numbers) == 0 {
		return in.Outcome.Nodes, nil
	}
	var names []string
	for _, n := range numbers {
		if n < 1 || n > len(in.Outcome.Nodes) {
			return nil, failure.Inputf("there is no worker %d: the lab has %d", n, len(in.Outcome.Nodes))
		}
		names = append(names, in.Outcome.Nodes[n-1])
	}
	return names, nil
}

// within judges a value by optional bounds, at least one of which is set.
func within(id, subject, unit string, observed float64, atLeast, atMost *float64) measure.Assertion {
	low, high := math.Inf(-1), math.Inf(1)
	if atLeast != nil {
		low = *atLeast
	}
	if atMost != nil {
		high = *atMost
	}
	return measure.Within(id, subject, unit, observed, math.NaN(), low, high)
}

// validBounds says what is wrong with optional bounds.
func validBounds(atLeast, atMost *float64) error {
	if atLeast != nil && atMost != nil && *atLeast > *atMost {
		return fmt.Errorf("at least %v and at most %v: nothing is both", *atLeast, *atMost)
	}
	return nil
}
