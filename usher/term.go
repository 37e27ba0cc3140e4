package usher

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Key names a piece of work: one app, or with App "" the pods of a namespace
// that carry a number though no app selects them.
type Key struct{ Namespace, App string }

// Term is what one leader knows during one term: the pods and apps that its
// watches told it of, overlaid with its own writes. It decides and does no I/O;
// whoever holds it feeds it events, carries out the writes that Plan returns and
// reports each to Settle. It is safe for concurrent use.
type Term struct {
	config  Config
	horizon uint64
	now     func() time.Time

	mu         sync.Mutex
	namespaces map[string]*namespace
	// scheduled is when a pod was first seen on a node, until it is labelled.
	// The pod's own condition has whole seconds, too coarse for what is measured.
	scheduled map[types.UID]time.Time
	delays    []time.Duration
}

// namespace is the part of the state within which labels select.
type namespace struct {
	apps []App // by seniority
	pods map[types.UID]Pod
	// known is a state newer than the one in pods, from the answer to a write.
	known   map[types.UID]Pod
	pending map[types.UID]*Write
	// shared are the pods that more than one app reaches. While there are any, a
	// change of one app's pod can matter to any other app.
	shared map[types.UID]bool
}

// NewTerm starts a term. horizon is a resourceVersion of pods that the API server
// had after the term began; now is the clock.
func NewTerm(config Config, horizon uint64, now func() time.Time) *Term {
	return &Term{
		config: config, horizon: horizon, now: now,
		namespaces: map[string]*namespace{}, scheduled: map[types.UID]time.Time{},
	}
}

func (t *Term) namespace(name string) *namespace {
	ns, ok := t.namespaces[name]
	if !ok {
		ns = &namespace{
			pods: map[types.UID]Pod{}, known: map[types.UID]Pod{},
			pending: map[types.UID]*Write{}, shared: map[types.UID]bool{},
		}
		t.namespaces[name] = ns
	}
	return ns
}

// SetPod takes in a watched state of a pod and returns the work that it makes.
func (t *Term) SetPod(p Pod) []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	ns := t.namespace(p.Namespace)
	before, existed := ns.newest(p.UID)
	var keys []Key
	if existed {
		keys = ns.keysOf(before)
	}
	ns.pods[p.UID] = p
	if k, ok := ns.known[p.UID]; ok && k.Version <= p.Version {
		delete(ns.known, p.UID)
	}
	after, _ := ns.newest(p.UID)
	ns.noteShared(after)
	if after.Node != "" && !after.Labelled && before.Node == "" && after.Version > t.horizon {
		t.scheduled[p.UID] = t.now()
	}
	return append(keys, ns.keysOf(after)...)
}

// DropPod takes in that a pod is gone: its number is free.
func (t *Term) DropPod(namespaceName string, uid types.UID) []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	ns := t.namespace(namespaceName)
	last, existed := ns.newest(uid)
	delete(ns.pods, uid)
	delete(ns.known, uid)
	delete(ns.pending, uid)
	delete(t.scheduled, uid)
	if !existed {
		return nil
	}
	keys := ns.keysOf(last) // while the pod still counts as shared
	delete(ns.shared, uid)
	return keys
}

// SetApp takes in a watched state of an app, with the selectors published now.
func (t *Term) SetApp(a App) []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	ns := t.namespace(a.Namespace)
	if i := ns.find(a.Name); i >= 0 {
		ns.apps = slices.Delete(ns.apps, i, i+1)
	}
	ns.apps = append(ns.apps, a)
	slices.SortFunc(ns.apps, App.older)
	ns.noteAllShared()
	return ns.allKeys(a.Namespace)
}

// DropApp takes in that a Service is no app any more.
func (t *Term) DropApp(namespaceName, name string) []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	ns := t.namespace(namespaceName)
	i := ns.find(name)
	if i < 0 {
		return nil
	}
	ns.apps = slices.Delete(ns.apps, i, i+1)
	ns.noteAllShared()
	return append(ns.allKeys(namespaceName), Key{namespaceName, name})
}

// SetPublished takes in the selectors that an app's slot Services have now. They
// may be there before and after the app.
func (t *Term) SetPublished(k Key, published []labels.Selector) []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	ns := t.namespace(k.Namespace)
	i := ns.find(k.App)
	if i < 0 {
		return nil
	}
	ns.apps[i].Published = published
	ns.noteAllShared()
	return ns.allKeys(k.Namespace)
}

// Plan decides what to write for k now, and counts it as in flight until Settle.
// The writes may only be sent if the term is still on after Plan returned.
func (t *Term) Plan(k Key) []Write {
	t.mu.Lock()
	defer t.mu.Unlock()
	ns := t.namespace(k.Namespace)
	pods := ns.view()
	var d decision
	if k.App == "" {
		d.writes = decideOrphans(ns.apps, pods)
	} else if i := ns.find(k.App); i >= 0 {
		d = t.config.decideApp(ns.apps[i], ns.apps, pods, t.horizon)
	}
	for _, p := range d.waiting {
		delete(t.scheduled, p.UID)
	}
	for _, w := range d.writes {
		ns.pending[w.Pod.UID] = &w
	}
	return d.writes
}

// Outcome is how a write ended.
type Outcome int

const (
	// Known means that the pod's state after the write is known for sure,
	// whether the write took effect or was refused.
	Known Outcome = iota
	// Gone means that the pod is gone.
	Gone
	// NotSent means that the write was never sent.
	NotSent
)

// Settle ends a write that Plan returned. now is the pod's state for Known. A
// write of unknown fate must not be settled: it goes on holding its number.
func (t *Term) Settle(w Write, outcome Outcome, now Pod) []Key {
	if outcome == Gone {
		return t.DropPod(w.Pod.Namespace, w.Pod.UID)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ns := t.namespace(w.Pod.Namespace)
	if _, here := ns.pods[w.Pod.UID]; !here {
		return nil // gone meanwhile
	}
	keys := ns.keysOf(w.Pod)
	delete(ns.pending, w.Pod.UID)
	if outcome == NotSent {
		return keys
	}
	if newest, _ := ns.newest(now.UID); now.Version > newest.Version {
		ns.known[now.UID] = now
		ns.noteShared(now)
	}
	if since, ok := t.scheduled[now.UID]; ok && now.Labelled {
		t.delays = append(t.delays, t.now().Sub(since))
		delete(t.scheduled, now.UID)
	}
	return append(keys, ns.keysOf(now)...)
}

// TakeDelays returns the times from scheduled to labelled since the last call,
// of pods that did not have to wait for a number.
func (t *Term) TakeDelays() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	delays := t.delays
	t.delays = nil
	return delays
}

// Keys is all the work there could be; it backs the resync.
func (t *Term) Keys() []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	var keys []Key
	for name, ns := range t.namespaces {
		keys = append(keys, ns.allKeys(name)...)
	}
	return keys
}

func (ns *namespace) find(app string) int {
	return slices.IndexFunc(ns.apps, func(a App) bool { return a.Name == app })
}

func (ns *namespace) newest(uid types.UID) (Pod, bool) {
	if p, ok := ns.known[uid]; ok {
		return p, true
	}
	p, ok := ns.pods[uid]
	return p, ok
}

func (ns *namespace) noteShared(p Pod) {
	reaching := 0
	for _, a := range ns.apps {
		if a.reaches(p) {
			reaching++
		}
	}
	if reaching > 1 {
		ns.shared[p.UID] = true
	} else {
		delete(ns.shared, p.UID)
	}
}

func (ns *namespace) noteAllShared() {
	for uid := range ns.pods {
		p, _ := ns.newest(uid)
		ns.noteShared(p)
	}
}

// view is all pods by age, so that the same state makes the same decisions.
func (ns *namespace) view() []seenPod {
	view := make([]seenPod, 0, len(ns.pods))
	for uid := range ns.pods {
		p, _ := ns.newest(uid)
		view = append(view, seenPod{Pod: p, pending: ns.pending[uid]})
	}
	slices.SortFunc(view, func(p, q seenPod) int { return p.older(q.Pod) })
	return view
}

// keysOf is the work that a change of p may make: for the apps that reach it, for
// all if pods are shared, and for all and the orphans' turn if p is labelled
// and nobody owns it, since such a label blocks every app.
func (ns *namespace) keysOf(p Pod) []Key {
	if _, owned := owner(ns.apps, p); len(ns.shared) > 0 || !owned && p.Labelled {
		return ns.allKeys(p.Namespace)
	}
	var keys []Key
	for _, a := range ns.apps {
		if a.reaches(p) {
			keys = append(keys, Key{p.Namespace, a.Name})
		}
	}
	return keys
}

func (ns *namespace) allKeys(name string) []Key {
	keys := []Key{{Namespace: name}}
	for _, a := range ns.apps {
		keys = append(keys, Key{name, a.Name})
	}
	return keys
}
