package usher

import (
	"slices"
	"testing"
	"time"
)

func newTestTerm(t *testing.T, apps []App, lines ...string) *Term {
	t.Helper()
	term := NewTerm(DefaultConfig(), 0, func() time.Time { return time.Time{} })
	for _, a := range apps {
		term.SetApp(a)
	}
	for _, p := range podsOf(t, lines...) {
		term.SetPod(p.Pod)
	}
	return term
}

func expect(t *testing.T, got []Write, want ...string) {
	t.Helper()
	if lines := said(got); !slices.Equal(lines, want) {
		t.Errorf("writes = %q, want %q", lines, want)
	}
}

// at is a pod of a line at a version.
func at(t *testing.T, version uint64, line string) Pod {
	t.Helper()
	p := podsOf(t, line)[0].Pod
	p.Version = version
	return p
}

func TestAWriteHoldsItsNumberUntilItIsSettled(t *testing.T) {
	t.Parallel()
	web := Key{testNamespace, "web"}
	term := newTestTerm(t, []App{appOf(t, "web", "app=web", 0, 1)}, "a n1 app=web")
	first := term.Plan(web)
	expect(t, first, "assign a=0")
	term.SetPod(at(t, 100, "b n1 app=web"))
	expect(t, term.Plan(web)) // the number may be on its way

	if keys := term.Settle(first[0], NotSent, Pod{}); !slices.Contains(keys, web) {
		t.Errorf("a write that was not sent wakes %v, not its app", keys)
	}
	expect(t, term.Plan(web), "assign a=0")
}

func TestAnAnswerOutweighsEventsFromBeforeIt(t *testing.T) {
	t.Parallel()
	web := Key{testNamespace, "web"}
	term := newTestTerm(t, []App{appOf(t, "web", "app=web", 0, 1)}, "a n1 app=web", "b n1 app=web")
	first := term.Plan(web)
	expect(t, first, "assign a=0")
	term.Settle(first[0], Known, at(t, 105, "a n1 app=web slot=0"))
	term.SetPod(at(t, 103, "a n1 app=elsewhere")) // the watch is behind the answer
	expect(t, term.Plan(web))
	term.SetPod(at(t, 107, "a n1 app=web slot=0 ended"))
	expect(t, term.Plan(web), "assign b=0", "remove a")
}

func TestAnyAppIsWokenWherePodsAreShared(t *testing.T) {
	t.Parallel()
	old, young := appOf(t, "old", "app=web", 0, 1), appOf(t, "young", "tier=front", 1, 1)
	term := newTestTerm(t, []App{old, young}, "front n1 tier=front slot=0", "both n1 app=web tier=front")
	// both is old's and must wait for front, which only young selects.
	expect(t, term.Plan(Key{testNamespace, "old"}))
	keys := term.DropPod(testNamespace, "front")
	if !slices.Contains(keys, Key{testNamespace, "old"}) {
		t.Errorf("the end of front wakes %v, and the pod that waits for its number goes on waiting", keys)
	}
	expect(t, term.Plan(Key{testNamespace, "old"}), "assign both=0")
}

func TestAnAppIsLeftAsleepByPodsOfOthers(t *testing.T) {
	t.Parallel()
	term := newTestTerm(t, []App{appOf(t, "web", "app=web", 0, 1), appOf(t, "api", "app=api", 1, 1)}, "a n1 app=web")
	if keys := term.SetPod(at(t, 101, "b n1 app=api")); !slices.Equal(keys, []Key{{testNamespace, "api"}}) {
		t.Errorf("a pod of api wakes %v", keys)
	}
}
