package clusters

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// StateVariable is the environment variable that moves the files of labs elsewhere.
const StateVariable = "SECONDHOP_STATE"

// state is the directory of a lab's files: its kubeconfig, its description and the
// logs of its making. Docker knows the rest.
type state struct{ dir string }

// openState finds the directory of the lab of that name; it need not exist.
func openState(name string) (state, error) {
	root, err := stateRoot()
	return state{filepath.Join(root, name)}, err
}

// stateRoot is one place for all users, since a lab belongs to the machine; it is
// emptied by a reboot, which also takes the lab's rules and links away.
func stateRoot() (string, error) {
	root := os.Getenv(StateVariable)
	if root == "" {
		root = "/run/secondhop"
	}
	return filepath.Abs(root)
}

func (s state) kubeconfig() string  { return filepath.Join(s.dir, "kubeconfig") }
func (s state) description() string { return filepath.Join(s.dir, "lab.json") }

// congestion is where the host's list of allowed congestion controls is kept while
// the lab has it changed.
func (s state) congestion() string { return filepath.Join(s.dir, "tcp_allowed_congestion_control") }

// log is where the output of a step of the making is kept.
func (s state) log(step string) string { return filepath.Join(s.dir, "logs", step+".log") }

// save writes the description, which says that the lab is complete.
func (s state) save(cluster *Cluster) error {
	text, err := json.MarshalIndent(cluster, "", "  ")
	if err != nil {
		return fmt.Errorf("describe lab %s: %w", cluster.Spec.Name, err)
	}
	return s.write(s.description(), text)
}

// load reads the description; nil when there is none, as while a lab is made or
// after its making was cut short.
func (s state) load() (*Cluster, error) {
	text, err := os.ReadFile(s.description())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{Kubeconfig: s.kubeconfig()}
	if err := json.Unmarshal(text, cluster); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.description(), err)
	}
	if len(cluster.Nodes) == 0 {
		return nil, fmt.Errorf("read %s: it names no nodes", s.description())
	}
	return cluster, nil
}

// write puts a file in place whole or not at all; only the owner may read it.
func (s state) write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// remove deletes the lab's files.
func (s state) remove() error { return os.RemoveAll(s.dir) }
