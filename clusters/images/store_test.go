package images

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"secondhop/internal/failure"
)

func TestHashOfTellsListsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOf(rapid.StringMatching(`[ab]{0,3}`))
		a, b := lists.Draw(t, "a"), lists.Draw(t, "b")
		same := strings.Join(a, "\x00") == strings.Join(b, "\x00") && len(a) == len(b)
		if (hashOf(a...) == hashOf(b...)) != same {
			t.Fatalf("hashes of %q and %q: equal is %v", a, b, !same)
		}
	})
}

// The key of equal inputs must not depend on the process or the day: the cache
// would be worthless.
func TestKeyIsStable(t *testing.T) {
	t.Parallel()
	s := step{name: "etcd", inputs: []string{"go1.26.8", "v3.6.5"}}
	const want = "cbf741be9e63"
	if got := s.key()[:shortHash]; got != want {
		t.Errorf("key = %s, want %s", got, want)
	}
}

func TestRunKeepsWholeResultsOnly(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, tc := range []struct {
		name string
		make func(ctx context.Context, scratch, out string) error
		want error
	}{
		{"whole", func(_ context.Context, _, out string) error { return os.WriteFile(out, []byte("x"), 0o644) }, nil},
		{"fails after writing", func(_ context.Context, scratch, out string) error {
			return errors.Join(os.WriteFile(out, []byte("half"), 0o644), os.WriteFile(filepath.Join(scratch, "junk"), nil, 0o644), refused)
		}, refused},
		{"writes nothing", func(context.Context, string, string) error { return nil }, os.ErrNotExist},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := store{t.TempDir()}
			s := step{name: "thing", title: "the thing", make: tc.make}
			err := st.run(t.Context(), s)
			if !errors.Is(err, tc.want) || (tc.want == nil) != (err == nil) {
				t.Fatalf("error = %v, want %v", err, tc.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "the thing: ") {
				t.Errorf("error %q does not name the step", err)
			}
			if st.has(s) != (tc.want == nil) {
				t.Errorf("has = %v", st.has(s))
			}
			if left, _ := os.ReadDir(st.workDir()); len(left) != 0 {
				t.Errorf("left in the work directory: %v", left)
			}
		})
	}
}

func TestRunDoesNothingTwice(t *testing.T) {
	t.Parallel()
	st, made := store{t.TempDir()}, 0
	s := step{name: "thing", make: func(_ context.Context, _, out string) error { made++; return os.Mkdir(out, 0o755) }}
	for range 2 {
		if err := st.run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if made != 1 {
		t.Errorf("made %d times", made)
	}
	s.inputs = []string{"another version"}
	if err := st.run(t.Context(), s); err != nil || made != 2 {
		t.Errorf("a changed input: made %d times, %v", made, err)
	}
}

func TestLockIsExclusiveAndSweepsUp(t *testing.T) {
	t.Parallel()
	st := store{t.TempDir()}
	junk := filepath.Join(st.workDir(), "kube-123", "half")
	if err := os.MkdirAll(junk, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := st.lock(t.Context(), func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(st.workDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what an interrupted build left is still there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	_, err = st.lock(ctx, func() { told++; cancel() })
	if !errors.Is(err, context.Canceled) || told != 1 {
		t.Errorf("second lock: %v, told %d times", err, told)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = st.lock(t.Context(), func() { t.Error("waited for a lock that was given back") })
	if err != nil {
		t.Fatal(err)
	}
	_ = unlock()
}

func TestFullDiskIsOneSentenceWithItsCure(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	st := store{dir}
	s := step{name: "big", title: "a big file", make: func(_ context.Context, _, out string) error {
		return os.WriteFile(out, bytes.Repeat([]byte("x"), 1<<20), 0o644)
	}}
	err := st.run(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "is full") || !strings.Contains(failure.Cure(err), CacheVariable) || failure.ExitCode(err) != 2 {
		t.Errorf("error = %v; cure = %q", err, failure.Cure(err))
	}
	if left, _ := os.ReadDir(st.workDir()); len(left) != 0 || st.has(s) {
		t.Errorf("left behind: %v", left)
	}
	if err := needSpace(dir, 1<<20); err == nil || failure.Cure(err) == "" {
		t.Errorf("needSpace on a small disk = %v", err)
	}
}
