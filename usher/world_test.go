package usher

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// world is a model of what usher lives in, small enough to take every step by
// itself and in any order: an API server with its revision, watches that lag,
// requests that are under way and answers that get lost, a Lease, and leaders
// that go on after they have lost it. It holds the truth that decisions, made
// from caches, are checked against. What the real API server does with the same
// writes is tested in server_test.go.
type world struct {
	draw   func(n int) int
	knobs  knobs
	config Config

	revision uint64
	created  int
	pods     map[types.UID]Pod
	apps     []App
	history  []event // what watches deliver, in order
	holder   int     // number of the term that the Lease names
	leaders  []*leader
	flying   []*request // sent by processes that are no more

	assigned, fenced, conflicts int
}

// knobs break usher on purpose, one protection at a time.
type knobs struct {
	overlapping bool // a third app that selects pods of the others
	changing    bool // apps come, go and change their count

	freeAtDeletion bool // the wrong rule
	noFence        bool // take every pod for past the horizon
	noCheck        bool // send without asking for the Lease
	noOverlay      bool // forget writes in flight
	staleStart     bool // begin a term with a cache from before it
}

type event struct {
	pod     *Pod // set
	uid     types.UID
	app     *App // set
	dropApp string
}

type leader struct {
	number  int
	term    *Term
	cursor  int // events delivered
	queue   []Key
	planned [][]Write
	sent    []*request
}

// request is a write on its way. The answer is nil until the server has acted.
type request struct {
	write  Write
	answer *answer
}

type answer struct{ refused bool }

const (
	testNamespace = "app"
	maxPods       = 20
)

func newWorld(draw func(int) int, k knobs) *world {
	w := &world{draw: draw, knobs: k, config: DefaultConfig(), pods: map[types.UID]Pod{}}
	w.config.FreeAtDeletion = k.freeAtDeletion
	w.setApp("a", "app=a", 1+draw(4))
	w.setApp("b", "app=b", 1+draw(4))
	if k.overlapping {
		w.setApp("c", "tier=x", 1+draw(4))
	}
	w.takeOver()
	return w
}

func (w *world) setApp(name, selector string, slots int) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	app := App{
		Namespace: testNamespace, Name: name, Created: time.Unix(int64(w.draw(3)), 0), Slots: slots, Selector: parsed,
	}
	w.apps = slices.DeleteFunc(w.apps, func(a App) bool { return a.Name == name })
	w.apps = append(w.apps, app)
	slices.SortFunc(w.apps, App.older)
	w.history = append(w.history, event{app: &app})
}

func (w *world) dropApp(name string) {
	w.apps = slices.DeleteFunc(w.apps, func(a App) bool { return a.Name == name })
	w.history = append(w.history, event{dropApp: name})
}

// put stores a changed pod under a new revision.
func (w *world) put(p Pod) Pod {
	w.revision++
	p.Version = w.revision
	w.pods[p.UID] = p
	w.history = append(w.history, event{pod: &p})
	return p
}

func (w *world) gone(uid types.UID) {
	w.revision++
	delete(w.pods, uid)
	w.history = append(w.history, event{uid: uid})
}

func (w *world) create() {
	w.created++
	set := labels.Set{"app": []string{"a", "b"}[w.draw(2)]}
	if w.knobs.overlapping && w.draw(2) == 0 {
		set["tier"] = "x"
	}
	name := fmt.Sprintf("pod-%04d", w.created)
	w.put(Pod{
		Namespace: testNamespace, Name: name, UID: types.UID(name), Labels: set,
		Created: time.Unix(int64(w.created/3), 0), // several in one second
	})
}

// takeOver begins a term. The leader before is not told.
func (w *world) takeOver() {
	w.holder++
	horizon := w.revision
	if w.knobs.noFence {
		horizon = 0
	}
	l := &leader{number: w.holder, term: NewTerm(w.config, horizon, func() time.Time { return time.Time{} })}
	upTo := len(w.history)
	if w.knobs.staleStart {
		upTo -= min(upTo, w.draw(30))
	}
	for l.cursor < upTo {
		w.deliver(l)
	}
	l.wake(l.term.Keys())
	w.leaders = append(w.leaders, l)
	if len(w.leaders) > 3 {
		w.crash(0)
	}
}

// crash ends a process; what it has sent may still arrive.
func (w *world) crash(i int) {
	w.flying = append(w.flying, w.leaders[i].sent...)
	w.leaders = slices.Delete(w.leaders, i, i+1)
}

// deliver hands the next event to a leader's watches.
func (w *world) deliver(l *leader) {
	e := w.history[l.cursor]
	l.cursor++
	switch {
	case e.pod != nil:
		l.wake(l.term.SetPod(*e.pod))
	case e.uid != "":
		l.wake(l.term.DropPod(testNamespace, e.uid))
	case e.app != nil:
		l.wake(l.term.SetApp(*e.app))
	default:
		l.wake(l.term.DropApp(testNamespace, e.dropApp))
	}
}

func (l *leader) wake(keys []Key) {
	for _, k := range keys {
		if !slices.Contains(l.queue, k) {
			l.queue = append(l.queue, k)
		}
	}
}

// plan takes one key from the queue and decides.
func (w *world) plan(l *leader) {
	i := w.draw(len(l.queue))
	k := l.queue[i]
	l.queue = slices.Delete(l.queue, i, i+1)
	writes := l.term.Plan(k)
	if w.knobs.noOverlay {
		for _, write := range writes {
			l.term.Settle(write, NotSent, Pod{})
		}
	}
	if len(writes) > 0 {
		l.planned = append(l.planned, writes)
	}
}

// check asks for the Lease and sends one batch, or gives it up.
func (w *world) check(l *leader) {
	batch := l.planned[0]
	l.planned = l.planned[1:]
	for _, write := range batch {
		if l.number == w.holder || w.knobs.noCheck {
			l.sent = append(l.sent, &request{write: write})
		} else {
			l.term.Settle(write, NotSent, Pod{})
		}
	}
}

// arrive lets the server act on one request and returns what that violates.
func (w *world) arrive(r *request) error {
	p, here := w.pods[r.write.Pod.UID]
	r.answer = &answer{refused: !here || p.Version != r.write.Pod.Version}
	if r.answer.refused {
		w.conflicts++
		return nil
	}
	switch r.write.Action {
	case Assign:
		if p.Labelled {
			return fmt.Errorf("%s has number %s and is given %d", p.Name, p.Slot, r.write.Number)
		}
		p.Labelled, p.Slot = true, strconv.Itoa(r.write.Number)
		w.assigned++
	case Remove:
		if err := w.mayLose(p); err != nil {
			return err
		}
		p.Labelled, p.Slot = false, ""
	case Fence:
		w.fenced++
	}
	w.put(p)
	return w.doubles()
}

// mayLose reports a live pod about to lose its number though nothing changed
// for it. Where apps change, a stale view of the app is reason enough.
func (w *world) mayLose(p Pod) error {
	app, owned := owner(w.apps, p)
	if w.knobs.changing || p.Ended || !owned || parseNumber(p.Slot) >= app.Slots {
		return nil
	}
	return fmt.Errorf("live pod %s loses its number %s", p.Name, p.Slot)
}

// answerTo tells a leader how its request ended; a refused one is looked up, as
// the writer does. A lost answer leaves the request to be sent again.
func (w *world) answerTo(l *leader, i int) {
	r := l.sent[i]
	if w.draw(8) == 0 {
		r.answer = nil
		return
	}
	l.sent = slices.Delete(l.sent, i, i+1)
	p, here := w.pods[r.write.Pod.UID]
	if !here {
		l.wake(l.term.Settle(r.write, Gone, Pod{}))
		return
	}
	l.wake(l.term.Settle(r.write, Known, p))
}

// doubles is the invariant: no app has two pods with one number on a node.
func (w *world) doubles() error {
	for _, app := range w.apps {
		held := map[string]string{}
		for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
			p := w.pods[uid]
			if !p.Labelled || p.Ended || !app.selects(p) {
				continue
			}
			at := p.Node + " slot " + p.Slot
			if other, taken := held[at]; taken {
				return fmt.Errorf("app %s, %s: held by %s and %s", app.Name, at, other, p.Name)
			}
			held[at] = p.Name
		}
	}
	return nil
}
