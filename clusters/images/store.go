package images

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/units"
	"secondhop/internal/wait"
)

// CacheVariable is the environment variable that moves the cache elsewhere.
const CacheVariable = "SECONDHOP_CACHE"

// store keeps the results of build steps, each under a name that holds a hash
// of all that went into it. A result is made beside its place and renamed into
// it when complete, so that what is there is whole.
type store struct{ dir string }

// openStore finds the cache directory and makes it if need be.
func openStore() (store, error) {
	dir := os.Getenv(CacheVariable)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return store{}, failure.Input(fmt.Errorf("find a cache directory: %w", err), "set "+CacheVariable+" to a directory")
		}
		dir = filepath.Join(base, "secondhop")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "images"))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return store{}, failure.Infra(fmt.Errorf("open the image cache: %w", err), "set "+CacheVariable+" to a directory that can be written")
	}
	return store{dir}, nil
}

// step is one unit of work whose result is kept: a file or a directory.
type step struct {
	// name is part of the result's file name; title is what people read.
	name, title string
	// inputs are all the facts that the result depends on.
	inputs []string
	// make writes the result to out, which does not exist yet, and may leave what
	// it likes in scratch, an empty directory on the same file system.
	make func(ctx context.Context, scratch, out string) error
}

// key is the hash of everything that the step's result depends on.
func (s step) key() string { return hashOf(append([]string{s.name}, s.inputs...)...) }

// hashOf is the SHA-256 of a list of texts, in hexadecimal. Each text goes in
// with its length, so that no two lists run together to the same hash.
func hashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// shortHash is how much of a hash goes into names; 48 bits are plenty for the
// few results that one machine keeps.
const shortHash = 12

// path is where the step's result is or will be.
func (st store) path(s step) string {
	return filepath.Join(st.dir, s.name+"-"+s.key()[:shortHash])
}

// has says whether the step's result is there.
func (st store) has(s step) bool {
	_, err := os.Stat(st.path(s))
	return err == nil
}

func (st store) workDir() string { return filepath.Join(st.dir, "work") }

// lock makes this process the only one that builds into the store, waiting for
// another one to finish. What an earlier process left half made is removed.
func (st store) lock(ctx context.Context, waiting func()) (unlock func() error, err error) {
	file, err := os.OpenFile(filepath.Join(st.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the image cache: %w", err)
	}
	told := false
	err = wait.Until(ctx, "another image build to finish", 500*time.Millisecond, func(context.Context) error {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil && !told {
			told = true
			waiting()
		}
		return err
	})
	if err == nil {
		err = os.RemoveAll(st.workDir())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the image cache: %w", err), file.Close())
	}
	return file.Close, nil
}

// run makes the step's result unless it is there. On any failure nothing of it
// is left. The caller holds the lock.
func (st store) run(ctx context.Context, s step) (err error) {
	if st.has(s) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := os.MkdirAll(st.workDir(), 0o755); err != nil {
		return explainDisk(st.dir, fmt.Errorf("%s: %w", s.title, err))
	}
	work, err := os.MkdirTemp(st.workDir(), s.name+"-")
	if err != nil {
		return explainDisk(st.dir, fmt.Errorf("%s: %w", s.title, err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	scratch, out := filepath.Join(work, "scratch"), filepath.Join(work, "out")
	if err = os.Mkdir(scratch, 0o755); err == nil {
		err = s.make(ctx, scratch, out)
	}
	if err == nil {
		err = os.Rename(out, st.path(s))
	}
	if err != nil {
		return explainDisk(st.dir, fmt.Errorf("%s: %w", s.title, err))
	}
	return nil
}

// list gives the names of the results in the store.
func (st store) list() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(st.dir)
	if err != nil {
		return nil, fmt.Errorf("list the image cache: %w", err)
	}
	kept := entries[:0]
	for _, entry := range entries {
		if entry.Name() != "lock" && entry.Name() != "work" {
			kept = append(kept, entry)
		}
	}
	return kept, nil
}

// explainDisk turns a full disk into one sentence and its cure. Programs that
// we run only say so in their output.
func explainDisk(dir string, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
		return err
	}
	return failure.Infra(fmt.Errorf("the disk that holds %s is full (%s left): %w", dir, freeSpace(dir), err),
		"free some space (docker system prune; go clean -cache), or set "+CacheVariable+" to a larger disk; finished steps are kept")
}

// freeSpace is what an unprivileged user can still write below dir.
func freeSpace(dir string) units.Bytes {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0
	}
	return units.Bytes(stat.Bavail) * units.Bytes(stat.Bsize)
}
