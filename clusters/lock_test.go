package clusters

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"secondhop/internal/failure"
)

func TestSecondHolderIsRefusedByName(t *testing.T) {
	t.Setenv(StateVariable, filepath.Join(t.TempDir(), "state"))
	first, err := Acquire("lab", "secondhop run nightly.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Acquire("lab", "secondhop up")
	if err == nil || !strings.Contains(err.Error(), `lab lab is in use by "secondhop run nightly.yaml" (process `) || failure.ExitCode(err) != 2 {
		t.Errorf("second holder: %v", err)
	}
	holder, err := HolderOf("lab")
	if err != nil || holder == nil || holder.Pid != os.Getpid() {
		t.Errorf("HolderOf = %v, %v", holder, err)
	}
	other, err := Acquire("other", "secondhop up")
	if err != nil {
		t.Errorf("another lab is locked, too: %v", err)
	}
	for _, lock := range []*Lock{first, first, other, nil} {
		if err := lock.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
	}
	if _, err := os.Stat(os.Getenv(StateVariable)); !os.IsNotExist(err) {
		t.Errorf("something of the locks is left: %v", err)
	}
	if holder, err := HolderOf("lab"); holder != nil || err != nil {
		t.Errorf("HolderOf nobody = %v, %v", holder, err)
	}
}

func TestLockExcludes(t *testing.T) {
	t.Setenv(StateVariable, t.TempDir())
	var inside, had atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				lock, err := Acquire("lab", "test")
				if err != nil {
					if failure.ExitCode(err) != 2 {
						t.Error(err)
					}
					continue
				}
				had.Add(1)
				if inside.Add(1) != 1 {
					t.Error("two hold the lock at once")
				}
				inside.Add(-1)
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if had.Load() == 0 {
		t.Error("nobody ever had the lock")
	}
}
