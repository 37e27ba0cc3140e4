package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/wait"
)

// Holder is who has a lab to itself.
type Holder struct {
	Pid     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

func (h Holder) String() string {
	return fmt.Sprintf("%q (process %d, for %s)", h.Command, h.Pid, time.Since(h.Since).Round(time.Second))
}

// Lock keeps a lab for one program. The kernel drops it when the program ends,
// however it ends.
type Lock struct {
	name string
	file *os.File
}

// Acquire takes the lock of the lab of that name for a command, at once or not at
// all: when another program has it, the error names that program.
func Acquire(name, command string) (*Lock, error) {
	path, err := lockPath(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock lab %s: %w", name, err)
	}
	// A holder that has not signed yet, a reader of HolderOf, or a file that its
	// holder has just removed: all of them are gone in an instant.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var refused error
	lock, err := wait.For(ctx, "the lock of lab "+name, 10*time.Millisecond, func(context.Context) (*Lock, error) {
		lock, err := tryLock(name, path)
		if errors.Is(err, errPassing) {
			return nil, err
		}
		refused = err
		return lock, nil
	})
	if err := errors.Join(err, refused); err != nil {
		return nil, err
	}
	if err := lock.sign(command); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock, nil
}

// errPassing says that trying again will soon give another answer.
var errPassing = errors.New("its holder is coming or going")

func lockPath(name string) (string, error) {
	root, err := stateRoot()
	return filepath.Join(root, name+".lock"), err
}

// tryLock fails with errPassing when the file that it locked is no longer the one
// at path, or has no signature.
func tryLock(name, path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock lab %s: %w", name, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			holder := readHolder(file)
			if holder.Pid == 0 {
				return nil, errPassing
			}
			return nil, failure.Infra(fmt.Errorf("lab %s is in use by %s", name, holder),
				"wait until that has ended, or end it with Ctrl-C; secondhop status shows the lab")
		}
		return nil, fmt.Errorf("lock lab %s: %w", name, err)
	}
	locked, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(locked, there) {
		return nil, errors.Join(errPassing, file.Close())
	}
	return &Lock{name, file}, nil
}

func (l *Lock) sign(command string) error {
	text, err := json.Marshal(Holder{os.Getpid(), command, time.Now().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(text, 0)
	return err
}

func readHolder(file *os.File) Holder {
	var holder Holder
	if err := json.NewDecoder(file).Decode(&holder); err != nil {
		return Holder{} // locked, but not signed yet
	}
	return holder
}

// HolderOf says who has the lab of that name; nil when nobody has.
func HolderOf(name string) (*Holder, error) {
	path, err := lockPath(name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock of lab %s: %w", name, err)
	}
	defer file.Close()
	// A shared lock can be had, and is dropped by Close, when nobody has the other.
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return nil, nil
	}
	holder := readHolder(file)
	return &holder, nil
}

// Release gives the lab back and takes the lock's file away. A nil lock and a
// second call do nothing.
func (l *Lock) Release() error {
	if l == nil || l.file == nil {
		return nil
	}
	// Removed while still held, so that nobody can lock the file at this path and
	// then lose it.
	err := os.Remove(l.file.Name())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, l.file.Close())
	// The directory is of no use either once nothing is in it; it may well be.
	_ = os.Remove(filepath.Dir(l.file.Name()))
	l.file = nil
	return err
}
