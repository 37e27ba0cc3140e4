package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// script plays an API server: a list, and one stream after the other.
type script struct {
	mu      sync.Mutex
	exists  map[string]string // name to resource version
	streams []*watch.FakeWatcher
	asked   []string // resource versions that streams were asked from
	refuse  []error  // errors that the next openings get
}

func newScript(names ...string) *script {
	s := &script{exists: map[string]string{}}
	for i, name := range names {
		s.exists[name] = fmt.Sprint(i + 1)
	}
	return s
}

func (s *script) source() source[*corev1.Pod] {
	return source[*corev1.Pod]{subject: "pods", list: s.list, watch: s.watch}
}

func (s *script) list(context.Context, metav1.ListOptions) ([]*corev1.Pod, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pods []*corev1.Pod
	for _, name := range keys(s.exists) {
		pods = append(pods, scripted(name, s.exists[name]))
	}
	return pods, fmt.Sprint(10 * (len(s.asked) + 1)), nil
}

func (s *script) watch(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, opts.ResourceVersion)
	if len(s.refuse) > 0 {
		err := s.refuse[0]
		s.refuse = s.refuse[1:]
		return nil, err
	}
	stream := watch.NewFakeWithChanSize(100, false)
	s.streams = append(s.streams, stream)
	return stream, nil
}

// set changes an object and tells the newest stream about it, unless quiet.
func (s *script) set(name, version string, quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exists[name] = version
	if !quiet {
		s.streams[len(s.streams)-1].Modify(scripted(name, version))
	}
}

func (s *script) last() *watch.FakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[len(s.streams)-1]
}

func scripted(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}}
}

// notes writes down what it is told.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) reset(_ time.Time, pods []*corev1.Pod) {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	n.add("list " + strings.Join(names, " "))
}

func (n *notes) change(_ time.Time, kind watch.EventType, pod *corev1.Pod) {
	n.add(fmt.Sprintf("%s %s@%s", kind, pod.Name, pod.ResourceVersion))
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) expect(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.lines, want) {
		t.Errorf("told %q, want %q", n.lines, want)
	}
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestFollowTakesABrokenStreamUpWhereItStopped(t *testing.T) {
	t.Parallel()
	api, told := newScript("a"), &notes{}
	f, err := follow(t.Context(), api.source(), told)
	must(t, err)
	api.set("a", "11", false)
	api.last().Stop()
	eventually(t, func() bool { return len(asked(api)) == 2 })
	api.set("a", "12", false)
	coverage, err := f.finish(shortly(t))
	must(t, err)
	if want := (Coverage{Events: 2, Reconnects: 1}); coverage != want || !coverage.Complete() {
		t.Errorf("coverage = %+v, want %+v", coverage, want)
	}
	if got := asked(api); !slices.Equal(got, []string{"10", "11"}) {
		t.Errorf("streams were asked from %v", got)
	}
	told.expect(t, "list a", "MODIFIED a@11", "MODIFIED a@12")
}

func TestFollowSaysWhenChangesMayBeLost(t *testing.T) {
	t.Parallel()
	api, told := newScript("a"), &notes{}
	f, err := follow(t.Context(), api.source(), told)
	must(t, err)
	stale := apierrors.NewResourceExpired("too old").Status()
	api.set("a", "12", true)
	api.last().Error(&stale)
	coverage, err := f.finish(shortly(t))
	must(t, err)
	if coverage.Relists != 1 || coverage.Complete() {
		t.Errorf("coverage = %+v, want one relist", coverage)
	}
	told.expect(t, "list a", "list a")
}

func TestFollowSurvivesAServerThatIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	api, told := newScript("a"), &notes{}
	f, err := follow(t.Context(), api.source(), told)
	must(t, err)
	api.mu.Lock()
	api.refuse = []error{errors.New("connection refused"), apierrors.NewResourceExpired("too old")}
	api.mu.Unlock()
	api.last().Stop()
	eventually(t, func() bool { return len(asked(api)) == 4 })
	coverage, err := f.finish(shortly(t))
	must(t, err)
	if want := (Coverage{Reconnects: 1, Relists: 1}); coverage != want {
		t.Errorf("coverage = %+v, want %+v", coverage, want)
	}
}

func TestFinishFailsWhenAChangeWasNotSeen(t *testing.T) {
	t.Parallel()
	api, told := newScript("a"), &notes{}
	f, err := follow(t.Context(), api.source(), told)
	must(t, err)
	api.set("a", "11", true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := f.finish(ctx); err == nil || !strings.Contains(err.Error(), "the last change of a was not seen") {
		t.Errorf("error = %v", err)
	}
	told.expect(t, "list a")
}

func asked(api *script) []string {
	api.mu.Lock()
	defer api.mu.Unlock()
	return slices.Clone(api.asked)
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
		time.Sleep(time.Millisecond)
	}
}
