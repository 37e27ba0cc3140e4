package netns

import (
	"errors"
	"os"
	"sync"
	"testing"

	vnetns "github.com/vishvananda/netns"
)

func TestDoRunsInsideAndLeavesNoThreadBehind(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	outside := id(t)
	path := made(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			var inside string
			if err := Do(path, func() error { inside = id(t); return nil }); err != nil {
				t.Error(err)
			}
			if inside == outside {
				t.Error("Do ran in the namespace of the host")
			}
			if got := id(t); got != outside {
				t.Errorf("a thread stayed in %s", got)
			}
		})
	}
	wg.Wait()
}

func TestDoGivesTheErrorBack(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to enter network namespaces")
	}
	refused := errors.New("refused")
	if err := Do(Host, func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("error = %v", err)
	}
	if err := Do("/run/netns/no-such", func() error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}

// made is a new namespace without a name; it goes with its last handle.
func made(t *testing.T) string {
	t.Helper()
	const name = "secondhop-test-do"
	path := "/run/netns/" + name
	err := Do(Host, func() error {
		handle, err := vnetns.NewNamed(name)
		if err != nil {
			return err
		}
		return handle.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vnetns.DeleteNamed(name); err != nil {
			t.Error(err)
		}
	})
	return path
}

func id(t *testing.T) string {
	link, err := os.Readlink(Host)
	if err != nil {
		t.Error(err)
	}
	return link
}
