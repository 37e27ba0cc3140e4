package usher

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// pick is a random pod of those for which which holds.
func (w *world) pick(which func(Pod) bool) (Pod, bool) {
	var fit []types.UID
	for uid, p := range w.pods {
		if which(p) {
			fit = append(fit, uid)
		}
	}
	if len(fit) == 0 {
		return Pod{}, false
	}
	slices.Sort(fit) // so that one seed is one history
	return w.pods[fit[w.draw(len(fit))]], true
}

func anyPod(Pod) bool { return true }

// clusterStep is one thing that the rest of a cluster does.
func (w *world) clusterStep() {
	change := func(which func(Pod) bool, how func(*Pod)) {
		if p, ok := w.pick(which); ok {
			how(&p)
			w.put(p)
		}
	}
	switch w.draw(12) {
	case 0, 1:
		if len(w.pods) < maxPods {
			w.create()
		}
	case 2, 3, 4: // the scheduler
		change(func(p Pod) bool { return p.Node == "" }, func(p *Pod) { p.Node = []string{"n1", "n2"}[w.draw(2)] })
	case 5, 6: // the kubelet's many updates, conflicting with ours
		change(anyPod, func(p *Pod) { p.Ready = !p.Ready })
	case 7:
		change(func(p Pod) bool { return !p.Terminating && p.Node != "" }, func(p *Pod) { p.Terminating = true })
	case 8:
		if p, ok := w.pick(func(p Pod) bool { return p.Terminating || w.draw(8) == 0 }); ok {
			w.gone(p.UID)
		}
	case 9: // ended or evicted
		if w.draw(12) == 0 {
			change(func(p Pod) bool { return p.Node != "" }, func(p *Pod) { p.Ended = true })
		}
	case 10: // a selector stops matching, or matches again
		if w.draw(3) > 0 {
			return
		}
		change(anyPod, func(p *Pod) {
			p.Labels = maps.Clone(p.Labels)
			for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
				other, off := strings.CutPrefix(key, "was-")
				if !off {
					other = "was-" + key
				}
				p.Labels[other] = p.Labels[key]
				delete(p.Labels, key)
			}
		})
	case 11:
		if w.knobs.changing {
			w.changeApp()
		}
	}
}

func (w *world) changeApp() {
	name := []string{"a", "b"}[w.draw(2)]
	if w.draw(3) == 0 {
		w.dropApp(name)
		return
	}
	w.setApp(name, "app="+name, 1+w.draw(4))
}

// usherStep is one thing that an usher, or one of its requests, does.
func (w *world) usherStep() error {
	l := w.leaders[len(w.leaders)-1]
	if w.draw(3) == 0 {
		l = w.leaders[w.draw(len(w.leaders))]
	}
	switch w.draw(14) {
	case 0, 1, 2, 3:
		for range 1 + w.draw(6) {
			if l.cursor < len(w.history) {
				w.deliver(l)
			}
		}
	case 4, 5, 6:
		if len(l.queue) > 0 {
			w.plan(l)
		}
	case 7, 8:
		if len(l.planned) > 0 {
			w.check(l)
		}
	case 9, 10:
		return w.arriveOne(l.sent)
	case 11:
		return w.arriveOne(w.flying)
	case 12:
		if i := slices.IndexFunc(l.sent, func(r *request) bool { return r.answer != nil }); i >= 0 {
			w.answerTo(l, i)
		}
	case 13:
		if w.draw(10) == 0 {
			w.takeOver()
		}
	}
	return nil
}

func (w *world) arriveOne(requests []*request) error {
	if len(requests) == 0 {
		return nil
	}
	if r := requests[w.draw(len(requests))]; r.answer == nil {
		return w.arrive(r)
	}
	return nil
}

// run takes steps at random and then lets everything come to rest. It returns
// the first violation.
func (w *world) run(steps int) error {
	for range steps {
		var err error
		if w.draw(6) == 0 {
			w.clusterStep()
		} else {
			err = w.usherStep()
		}
		if err == nil && !w.knobs.overlapping {
			err = w.doubles() // what the cluster does cannot double a number either
		}
		if err != nil {
			return err
		}
	}
	if err := w.rest(); err != nil {
		return err
	}
	return w.settledWell()
}

// rest plays everything to its end without a resync: every wake-up must come from
// an event or a write.
func (w *world) rest() error {
	for range 10_000 {
		busy := false
		for _, r := range w.flying {
			if r.answer == nil {
				busy = true
				if err := w.arrive(r); err != nil {
					return err
				}
			}
		}
		for _, l := range w.leaders {
			moved, err := w.advance(l)
			if err != nil {
				return err
			}
			busy = busy || moved
		}
		if !busy {
			return nil
		}
	}
	return errors.New("never comes to rest")
}

func (w *world) advance(l *leader) (moved bool, err error) {
	for l.cursor < len(w.history) {
		w.deliver(l)
		moved = true
	}
	for len(l.queue) > 0 && (l.number == w.holder || w.knobs.noCheck) {
		w.plan(l)
		moved = true
	}
	for len(l.planned) > 0 {
		w.check(l)
		moved = true
	}
	for len(l.sent) > 0 {
		moved = true
		if l.sent[0].answer == nil {
			if err := w.arrive(l.sent[0]); err != nil {
				return moved, err
			}
		}
		w.answerTo(l, 0)
	}
	return moved, nil
}

// settledWell checks what holds at rest: nobody has a number who should not, and
// nobody lacks one that is free.
func (w *world) settledWell() error {
	var pods []seenPod
	for _, p := range w.pods {
		pods = append(pods, seenPod{Pod: p})
	}
	for _, p := range pods {
		app, owned := owner(w.apps, p.Pod)
		switch {
		case p.Labelled && (p.Ended || !owned || parseNumber(p.Slot) >= app.Slots):
			return fmt.Errorf("%s still has number %s", p.Name, p.Slot)
		case !owned || p.Labelled || p.Ended || p.Terminating || p.Node == "":
			continue
		}
		for n := range app.Slots {
			if !slices.ContainsFunc(pods, func(q seenPod) bool {
				return q.Node == p.Node && q.holds(n) && share(w.apps, p.Pod, q.Pod)
			}) {
				return fmt.Errorf("%s on %s has no number though %d is free in app %s", p.Name, p.Node, n, app.Name)
			}
		}
	}
	return nil
}

func seeded(seed uint64) func(int) int {
	random := rand.New(rand.NewPCG(seed, 2))
	return func(n int) int { return random.IntN(n) }
}

// TestHistories runs many random histories of a cluster with lagging watches,
// conflicts, lost answers, crashes and leaders that do not know that they are
// none any more.
func TestHistories(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]knobs{
		"apps apart":       {},
		"apps overlapping": {overlapping: true},
		"apps changing":    {changing: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			histories, steps := 60, 1500
			if testing.Short() {
				histories = 10
			}
			var assigned, fenced, conflicts int
			for seed := range uint64(histories) {
				w := newWorld(seeded(seed), k)
				if err := w.run(steps); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				assigned, fenced, conflicts = assigned+w.assigned, fenced+w.fenced, conflicts+w.conflicts
			}
			t.Logf("%d histories of %d steps: %d numbers given, %d fences, %d writes refused", histories, steps, assigned, fenced, conflicts)
			if assigned == 0 || fenced == 0 || conflicts == 0 {
				t.Error("the histories do not exercise what they are for")
			}
		})
	}
}

// TestHistoriesShrunk looks for short histories, which rapid makes shorter still
// when one fails.
func TestHistoriesShrunk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		bits := rapid.IntRange(0, 1<<20)
		draw := func(n int) int { return bits.Draw(r, "") % n }
		k := knobs{overlapping: draw(2) == 0}
		if err := newWorld(draw, k).run(200); err != nil {
			r.Fatal(err)
		}
	})
}

// TestHistoriesCatchEachMissingProtection takes the protections away one at a time;
// a set of histories that passes without one proves nothing about it.
func TestHistoriesCatchEachMissingProtection(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]knobs{
		"number free at deletion":   {freeAtDeletion: true},
		"no fence":                  {noFence: true},
		"lease not checked":         {noCheck: true},
		"writes in flight unknown":  {noOverlay: true},
		"cache older than the term": {staleStart: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(400) {
				if err := newWorld(seeded(seed), k).run(1500); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("no history found it")
		})
	}
}
