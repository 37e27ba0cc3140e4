package usher

import (
	"maps"
	"slices"
)

// Action is what a write does to a pod.
type Action int

const (
	// Assign puts the number on.
	Assign Action = iota
	// Remove takes the label off.
	Remove
	// Fence changes the pod without changing its label, so that no write of an
	// older term can take effect any more.
	Fence
)

// String is the action's name as it appears in logs.
func (a Action) String() string { return [...]string{"assign", "remove", "fence"}[a] }

// Write is one change to one pod, valid only for the state of the pod that it
// carries.
type Write struct {
	Action Action
	Number int // of Assign
	Pod    Pod
}

// decision is what a pass over the pods of one app yields.
type decision struct {
	writes []Write
	// waiting are pods for which there is no number: not a delay of ours.
	waiting []Pod
}

// decideApp applies the rules to all pods of app. apps and pods are all of its
// namespace, by seniority and by age; horizon is that of the term.
func (c Config) decideApp(app App, apps []App, pods []seenPod, horizon uint64) decision {
	if app.Invalid != nil {
		return decision{}
	}
	var all decision
	nodes := byNode(pods)
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		d := c.decideNode(app, apps, nodes[node], horizon)
		all.writes = append(all.writes, d.writes...)
		all.waiting = append(all.waiting, d.waiting...)
	}
	return all
}

// decideOrphans takes the label off every pod that no app selects.
func decideOrphans(apps []App, pods []seenPod) []Write {
	var writes []Write
	for _, p := range pods {
		if _, owned := owner(apps, p.Pod); !owned && p.Labelled && p.pending == nil {
			writes = append(writes, Write{Action: Remove, Pod: p.Pod})
		}
	}
	return writes
}

// byNode groups scheduled pods by node and keeps their order.
func byNode(pods []seenPod) map[string][]seenPod {
	nodes := map[string][]seenPod{}
	for _, p := range pods {
		if p.Node != "" {
			nodes[p.Node] = append(nodes[p.Node], p)
		}
	}
	return nodes
}

// decideNode applies the rules on one node; pods are all of it in the namespace,
// by age.
func (c Config) decideNode(app App, apps []App, pods []seenPod, horizon uint64) decision {
	var d decision
	var candidates []int
	fencing := false
	for i, p := range pods {
		if o, owned := owner(apps, p.Pod); !owned || o.Name != app.Name {
			continue
		}
		switch {
		case p.pending != nil:
			fencing = fencing || p.pending.Action == Fence
		case p.Labelled && c.misplaced(app, apps, pods, i):
			d.writes = append(d.writes, Write{Action: Remove, Pod: p.Pod})
		case !p.Labelled && !p.Ended && !p.Terminating:
			candidates = append(candidates, i)
		}
	}
	if fencing {
		return d // or a younger pod would pass one that is about to be a candidate
	}
	taken := map[int]int{} // candidate -> number given in this pass
	for _, i := range candidates {
		if n, ok := c.freeNumber(app, apps, pods, taken, i); ok {
			taken[i] = n
		} else {
			d.waiting = append(d.waiting, pods[i].Pod)
		}
	}
	if fences, clear := fencesFor(apps, pods, taken, horizon); !clear {
		d.writes = append(d.writes, fences...)
		return d
	}
	for _, i := range candidates {
		if n, ok := taken[i]; ok {
			d.writes = append(d.writes, Write{Action: Assign, Number: n, Pod: pods[i].Pod})
		}
	}
	return d
}

// misplaced reports whether the label of pods[i] must go: the pod has ended, the
// value is no number of the app, or an older pod has the same number, which only
// others than usher can bring about.
func (c Config) misplaced(app App, apps []App, pods []seenPod, i int) bool {
	p := pods[i]
	n := parseNumber(p.Slot)
	if p.Ended || n < 0 || n >= app.Slots {
		return true
	}
	if c.FreeAtDeletion && p.Terminating {
		return false
	}
	return slices.ContainsFunc(pods[:i], func(q seenPod) bool {
		return c.blocks(q, n) && share(apps, p.Pod, q.Pod)
	})
}

// freeNumber is the lowest number that no pod sharing an app with pods[i] has.
func (c Config) freeNumber(app App, apps []App, pods []seenPod, taken map[int]int, i int) (int, bool) {
	for n := range app.Slots {
		used := slices.ContainsFunc(pods, func(q seenPod) bool {
			return c.blocks(q, n) && mayShare(apps, pods[i].Pod, q.Pod)
		})
		for j, given := range taken {
			used = used || given == n && mayShare(apps, pods[i].Pod, pods[j].Pod)
		}
		if !used {
			return n, true
		}
	}
	return 0, false
}

// blocks reports whether p keeps number n from others.
func (c Config) blocks(p seenPod, n int) bool {
	if c.FreeAtDeletion && p.Terminating {
		return false
	}
	return p.holds(n)
}

// fencesFor says which pods must be changed before the numbers in taken may be
// given; clear is whether there is nothing to wait for. A write of an older term
// may be under way to any pod that has no label and has not changed since the
// horizon. The pod that gets a number needs no fence: its own write is one.
func fencesFor(apps []App, pods []seenPod, taken map[int]int, horizon uint64) (fences []Write, clear bool) {
	clear = true
	for j, q := range pods {
		if q.Labelled || q.Ended || q.Terminating || q.Version > horizon {
			continue
		}
		threatens := false
		for i := range taken {
			threatens = threatens || i != j && mayShare(apps, pods[i].Pod, q.Pod)
		}
		if !threatens {
			continue
		}
		clear = false
		if q.pending == nil {
			fences = append(fences, Write{Action: Fence, Pod: q.Pod})
		}
	}
	return fences, clear
}
