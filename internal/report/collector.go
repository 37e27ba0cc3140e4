package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"syscall"
	"time"

	"secondhop/internal/failure"
	"secondhop/internal/measure"
)

// The files of a run's directory that the collector writes.
const (
	ResultFile = "result.json"
	JUnitFile  = "junit.xml"
)

// Collector gathers the results of a run while it goes on. Every addition is on
// disk when the call returns, so that a run that dies keeps what it had. Several
// tests, goroutines and processes may add to one directory: each addition reads
// the file, appends and replaces it under a lock on the directory. Nothing is
// ever overwritten or taken back; a test that is repeated adds a second verdict.
type Collector struct {
	dir string
	now func() time.Time
	mu  sync.Mutex
}

// Open creates the directory of a run or continues the one that is there. It
// fails on a directory with a result.json that this program cannot continue.
func Open(dir string, now func() time.Time) (*Collector, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, failure.Infra(fmt.Errorf("create result directory: %w", err), "choose a directory that can be written")
	}
	c := &Collector{dir: dir, now: now}
	if err := c.locked(c.sweep); err != nil {
		return nil, err
	}
	// A run that is added to goes on again.
	if err := c.add(func(r *Result) { r.Finished = false }); err != nil {
		return nil, err
	}
	return c, nil
}

// sweep removes the half-written files of processes that were killed. Whoever
// writes holds the lock, so that none of them is still being written.
func (c *Collector) sweep() error {
	for _, name := range []string{ResultFile, JUnitFile} {
		left, err := filepath.Glob(filepath.Join(c.dir, "."+name+".*"))
		if err != nil {
			return fmt.Errorf("look for half-written files: %w", err)
		}
		for _, path := range left {
			if err := os.Remove(path); err != nil {
				return failure.Infra(fmt.Errorf("remove a half-written file: %w", err), "")
			}
		}
	}
	return nil
}

// Dir is the directory of the run.
func (c *Collector) Dir() string { return c.dir }

// Environment records where the run is made; fields that are zero leave what is
// known already.
func (c *Collector) Environment(e Environment) error {
	return c.add(func(r *Result) {
		to, from := reflect.ValueOf(&r.Environment).Elem(), reflect.ValueOf(e)
		for i := range from.NumField() {
			if !from.Field(i).IsZero() {
				to.Field(i).Set(from.Field(i))
			}
		}
	})
}

// Family records the budget of statistical tests of the whole run.
func (c *Collector) Family(f measure.Family) error {
	return c.add(func(r *Result) { r.Family = f })
}

// Calibration records what links carry.
func (c *Collector) Calibration(links ...Calibration) error {
	return c.add(func(r *Result) { r.Calibration = append(r.Calibration, links...) })
}

// Phase records a part of the run that began at started and ends now.
func (c *Collector) Phase(name string, started time.Time) error {
	took := c.now().Sub(started)
	return c.add(func(r *Result) {
		r.Phases = append(r.Phases, Phase{Name: name, Started: started.UTC(), Seconds: took.Seconds()})
	})
}

// Row adds a line to the table.
func (c *Collector) Row(row Row) error {
	return c.add(func(r *Result) { r.Rows = append(r.Rows, row) })
}

// Assert adds judged assertions under the name of a test.
func (c *Collector) Assert(group string, assertions ...measure.Assertion) error {
	return c.add(func(r *Result) {
		for _, a := range assertions {
			r.Tests += a.Tests
		}
		for i := range r.Groups {
			if r.Groups[i].Name == group {
				r.Groups[i].Assertions = append(r.Groups[i].Assertions, assertions...)
				return
			}
		}
		r.Groups = append(r.Groups, Group{Name: group, Assertions: assertions})
	})
}

// Problem records an error that kept a stage, such as provisioning, from being
// done. A nil error is none.
func (c *Collector) Problem(stage string, err error) error {
	if err == nil {
		return nil
	}
	p := Problem{Stage: stage, Error: err.Error(), Cure: failure.Cure(err), Class: failure.Class(failure.ExitCode(err))}
	return c.add(func(r *Result) { r.Problems = append(r.Problems, p) })
}

// Artifact records a file of the run; its path is relative to the directory.
func (c *Collector) Artifact(path, what string) error {
	return c.add(func(r *Result) { r.Artifacts = append(r.Artifacts, Artifact{Path: path, What: what}) })
}

// Result is what has been collected so far, by everyone.
func (c *Collector) Result() (Result, error) {
	var result Result
	err := c.locked(func() error {
		var err error
		result, err = c.load()
		return err
	})
	return result, err
}

// Finish marks the run as complete and returns it with its verdict.
func (c *Collector) Finish() (Result, error) {
	if err := c.add(func(r *Result) { r.Finished = true }); err != nil {
		return Result{}, err
	}
	return c.Result()
}

// add applies one change and writes both files.
func (c *Collector) add(change func(*Result)) error {
	return c.locked(func() error {
		r, err := c.load()
		if err != nil {
			return err
		}
		change(&r)
		r.Updated = c.now().UTC()
		r.Verdict = r.Judge()
		if err := replace(filepath.Join(c.dir, ResultFile), r.Write); err != nil {
			return err
		}
		return replace(filepath.Join(c.dir, JUnitFile), r.WriteJUnit)
	})
}

// locked runs f alone among the goroutines of this process and, by a lock on the
// directory that the kernel drops when a process dies, among processes.
func (c *Collector) locked(f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, err := os.Open(c.dir)
	if err != nil {
		return failure.Infra(fmt.Errorf("open result directory: %w", err), "")
	}
	defer dir.Close()
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return failure.Infra(fmt.Errorf("lock result directory %s: %w", c.dir, err), "")
	}
	return f()
}

func (c *Collector) load() (Result, error) {
	path := filepath.Join(c.dir, ResultFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Result{Schema: Schema, Started: c.now().UTC()}, nil
	}
	if err != nil {
		return Result{}, failure.Infra(fmt.Errorf("continue the run: %w", err), "")
	}
	r, err := Read(bytes.NewReader(data))
	if err != nil {
		return Result{}, failure.Input(fmt.Errorf("continue the run in %s: %w", c.dir, err), "choose another directory")
	}
	return r, nil
}

// replace writes a file so that a reader, or a crash, never sees a part of it.
func replace(path string, write func(w io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return failure.Infra(fmt.Errorf("write %s: %w", path, err), "free some disk space; what was written before is kept")
	}
	defer os.Remove(file.Name()) // fails when it was renamed, as it should be
	err = write(file)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return failure.Infra(fmt.Errorf("write %s: %w", path, err), "free some disk space; what was written before is kept")
	}
	return nil
}
