package usher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// podsOf reads pods from lines such as
//
//	c n1 app=web slot=2 terminating pending=assign-1 v7
//
// The first word is the name and gives the order of age by the line's place.
func podsOf(t *testing.T, lines ...string) []seenPod {
	t.Helper()
	var pods []seenPod
	for i, line := range lines {
		words := strings.Fields(line)
		p := seenPod{Pod: Pod{
			Namespace: testNamespace, Name: words[0], UID: types.UID(words[0]), Version: 100,
			Node: strings.TrimPrefix(words[1], "-"), Created: time.Unix(int64(i), 0), Labels: labels.Set{},
		}}
		for _, word := range words[2:] {
			p.read(t, word)
		}
		pods = append(pods, p)
	}
	return pods
}

func (p *seenPod) read(t *testing.T, word string) {
	t.Helper()
	name, value, _ := strings.Cut(word, "=")
	switch {
	case name == "slot":
		p.Slot, p.Labelled = value, true
	case name == "terminating":
		p.Terminating = true
	case name == "ended":
		p.Ended = true
	case name == "pending":
		p.pending = &Write{Action: Fence}
		if value == "remove" {
			p.pending.Action = Remove
		} else if n, ok := strings.CutPrefix(value, "assign-"); ok {
			p.pending = &Write{Action: Assign, Number: parseNumber(n)}
		}
	case name == "old":
		p.Version = 1
	case value != "":
		p.Labels[name] = value
	default:
		t.Fatalf("word %q", word)
	}
}

// appOf is an app by its name and selector; older ones have smaller ages.
func appOf(t *testing.T, name, selector string, age, slots int) App {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return App{Namespace: testNamespace, Name: name, Created: time.Unix(int64(age), 0), Slots: slots, Selector: parsed}
}

func said(writes []Write) []string {
	var lines []string
	for _, w := range writes {
		line := fmt.Sprintf("%s %s", w.Action, w.Pod.Name)
		if w.Action == Assign {
			line += fmt.Sprintf("=%d", w.Number)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const horizon = 50 // pods have version 100, those marked old have 1
	for _, tc := range []struct {
		name    string
		slots   int
		wrong   bool // free at deletion
		invalid bool
		pods    []string
		want    []string
	}{
		{name: "the oldest get the lowest numbers, per node", slots: 2,
			pods: []string{"a n1 app=web", "b n2 app=web", "c n1 app=web", "d n1 app=web"},
			want: []string{"assign a=0", "assign b=0", "assign c=1"}},
		{name: "a gap is filled, live numbers stay", slots: 4,
			pods: []string{"a n1 app=web slot=3", "b n1 app=web slot=0", "c n1 app=web"},
			want: []string{"assign c=1"}},
		{name: "unscheduled, terminating and ended pods get none", slots: 4,
			pods: []string{"a - app=web", "b n1 app=web terminating", "c n1 app=web ended"}},
		{name: "a terminating pod keeps its number", slots: 1,
			pods: []string{"a n1 app=web slot=0 terminating", "b n1 app=web"}},
		{name: "the wrong rule gives it away", slots: 1, wrong: true,
			pods: []string{"a n1 app=web slot=0 terminating", "b n1 app=web"},
			want: []string{"assign b=0"}},
		{name: "an ended pod holds nothing and loses the label", slots: 1,
			pods: []string{"a n1 app=web slot=0 ended", "b n1 app=web"},
			want: []string{"assign b=0", "remove a"}},
		{name: "labels beyond the count and no numbers go", slots: 2,
			pods: []string{"a n1 app=web slot=2", "b n1 app=web slot=x", "c n1 app=web slot=01", "d n1 app=web slot="},
			want: []string{"remove a", "remove b", "remove c", "remove d"}},
		{name: "a number written twice stays with the oldest", slots: 3,
			pods: []string{"a n1 app=web slot=1", "b n1 app=web slot=1", "c n2 app=web slot=1"},
			want: []string{"remove b"}},
		{name: "numbers in flight are held", slots: 3,
			pods: []string{"a n1 app=web pending=assign-0", "b n1 app=web slot=1 pending=remove", "c n1 app=web"},
			want: []string{"assign c=2"}},
		{name: "a labelled pod that nobody selects blocks its number", slots: 2,
			pods: []string{"a n1 app=gone slot=0", "b n1 app=web"},
			want: []string{"assign b=1"}},
		{name: "another app's number does not matter", slots: 1,
			pods: []string{"a n1 app=api slot=0", "b n1 app=web"},
			want: []string{"assign b=0"}},
		{name: "old pods are fenced before a number is given", slots: 1,
			pods: []string{"a n1 app=web", "b n1 app=web old", "c n1 app=api old", "d n2 app=web old"},
			want: []string{"assign d=0", "fence b"}},
		{name: "nothing is fenced where no number is free", slots: 1,
			pods: []string{"a n1 app=web slot=0 old", "b n1 app=web old"}},
		{name: "a pod being fenced is not passed by a younger one", slots: 1,
			pods: []string{"a n1 app=web pending=fence", "b n1 app=web"}},
		{name: "an invalid app is left alone", slots: 2, invalid: true,
			pods: []string{"a n1 app=web slot=0 ended", "b n1 app=web"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			config := DefaultConfig()
			config.FreeAtDeletion = tc.wrong
			web := appOf(t, "web", "app=web", 0, tc.slots)
			if tc.invalid {
				web.Invalid = fmt.Errorf("on purpose")
			}
			apps := []App{web, appOf(t, "api", "app=api", 1, 4)}
			got := config.decideApp(web, apps, podsOf(t, tc.pods...), horizon)
			if diff := cmp.Diff(tc.want, said(got.writes)); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppsThatShareAPod(t *testing.T) {
	t.Parallel()
	old, young := appOf(t, "old", "app=web", 0, 4), appOf(t, "young", "tier=front", 1, 4)
	apps := []App{old, young}
	pods := podsOf(t,
		"both n1 app=web tier=front",     // old's
		"front n1 tier=front slot=0",     // young's, and in the way of both
		"web n1 app=web slot=1",          // old's, in the way of both
		"another n1 tier=front",          // young's
		"foreign n1 app=other tier=back", // nobody's
	)
	for _, tc := range []struct {
		app  App
		want []string
	}{
		{old, []string{"assign both=2"}},
		// 1 is free for it: no app selects both it and web.
		{young, []string{"assign another=1"}},
	} {
		got := DefaultConfig().decideApp(tc.app, apps, pods, 0)
		if diff := cmp.Diff(tc.want, said(got.writes)); diff != "" {
			t.Errorf("app %s: writes (-want +got):\n%s", tc.app.Name, diff)
		}
	}
}

func TestPublishedSelectorsCountWhileTheyLast(t *testing.T) {
	t.Parallel()
	web := appOf(t, "web", "app=web", 0, 2)
	before, err := labels.Parse("app=shop")
	if err != nil {
		t.Fatal(err)
	}
	web.Published = []labels.Selector{before}
	// The slot Services still select app=shop, so shop is behind number 0 of web.
	pods := podsOf(t, "shop n1 app=shop slot=0", "web n1 app=web")
	got := DefaultConfig().decideApp(web, []App{web}, pods, 0)
	if diff := cmp.Diff([]string{"assign web=1"}, said(got.writes)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestDecideOrphans(t *testing.T) {
	t.Parallel()
	apps := []App{appOf(t, "web", "app=web", 0, 4)}
	pods := podsOf(t, "a n1 app=web slot=0", "b n1 app=gone slot=0", "c n1 app=gone", "d n1 app=gone slot=1 pending=remove", "e - app=gone slot=x")
	if diff := cmp.Diff([]string{"remove b", "remove e"}, said(decideOrphans(apps, pods))); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
