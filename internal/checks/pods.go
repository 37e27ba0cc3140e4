package checks

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"secondhop/internal/observe"
)

// podLife is what was seen of a pod.
type podLife = observe.PodLife

// Sets of pods that a check can be about.
const (
	podsAll       = "all"       // that existed during the run
	podsPresent   = "present"   // there and not ending in the whole window
	podsNew       = "new"       // made during the run
	podsDeleted   = "deleted"   // told to end during the run
	podsUnslotted = "unslotted" // that never had a slot
	podsUnready   = "unready"   // that were unready at some time of the run
)

// PodChoice says which pods a check is about: those that meet everything that is set.
type PodChoice struct {
	Which string   `yaml:"which" doc:"all, present (for the whole window), new, deleted, unslotted or unready"`
	Nodes []int    `yaml:"nodes" doc:"numbers of the workers, from 1; none means all"`
	Slot  *int     `yaml:"slot" doc:"only holders of this slot"`
	Names []string `yaml:"names" doc:"names, in which * stands for anything; none means all"`
	Owner string   `yaml:"owner" doc:"kind of the controller, such as Job; empty means any"`
}

// Validate says what is wrong with the choice.
func (c PodChoice) Validate() error {
	if sets := []string{podsAll, podsPresent, podsNew, podsDeleted, podsUnslotted, podsUnready}; !slices.Contains(sets, c.Which) {
		return fmt.Errorf("which pods: %q, want one of %s", c.Which, strings.Join(sets, ", "))
	}
	for _, name := range c.Names {
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("name of pods %q: %w", name, err)
		}
	}
	return nil
}

// String names the choice: "new pods on 1, 2".
func (c PodChoice) String() string {
	text := c.Which + " pods"
	if len(c.Names) > 0 {
		text += " " + strings.Join(c.Names, ", ")
	}
	if c.Owner != "" {
		text += " of a " + c.Owner
	}
	if c.Slot != nil {
		text += fmt.Sprintf(" in slot %d", *c.Slot)
	}
	if len(c.Nodes) > 0 {
		text += " on worker " + strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Nodes), " ", ", "), "[]")
	}
	return text
}

// pods are the observed pods of the choice.
func (in Input) pods(c PodChoice) ([]observe.PodLife, error) {
	nodes, err := in.nodes(c.Nodes)
	if err != nil {
		return nil, err
	}
	present := map[string]bool{}
	for _, pod := range in.present() {
		present[pod.UID] = true
	}
	var chosen []observe.PodLife
	for _, pod := range in.Outcome.Observed.Pods.Pods {
		if len(c.Nodes) > 0 && !slices.Contains(nodes, pod.Node) || !c.matches(pod) {
			continue
		}
		if in.belongs(c.Which, pod, present[pod.UID]) {
			chosen = append(chosen, pod)
		}
	}
	return chosen, nil
}

// matches compares what does not change in a pod.
func (c PodChoice) matches(pod observe.PodLife) bool {
	named := len(c.Names) == 0 || slices.ContainsFunc(c.Names, func(pattern string) bool {
		match, _ := path.Match(pattern, pod.Name) // the pattern is valid
		return match
	})
	held := c.Slot == nil || pod.Slot == strconv.Itoa(*c.Slot)
	return named && held && (c.Owner == "" || strings.HasPrefix(pod.Owner, c.Owner+"/"))
}

// belongs reports whether a pod is in one of the sets.
func (in Input) belongs(which string, pod observe.PodLife, present bool) bool {
	switch which {
	case podsPresent:
		return present
	case podsNew:
		return !pod.Before
	case podsDeleted:
		return !pod.Deleting.IsZero()
	case podsUnslotted:
		return pod.Slot == ""
	case podsUnready:
		return slices.ContainsFunc(in.Outcome.Observed.Pods.Readiness, func(c observe.ReadyChange) bool {
			return c.Pod == pod.Name && !c.Ready
		})
	}
	return true
}
