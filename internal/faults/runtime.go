package faults

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// nodeExec runs a program in a node; clusters.Cluster has it.
type nodeExec interface {
	Exec(ctx context.Context, node string, stdin io.Reader, argv ...string) (string, error)
}

// runtime is the container runtime of a node, asked there and not through the API
// server, which may be what has failed.
type runtime struct {
	nodes nodeExec
	node  string
}

// task is the first process of a running container.
type task struct {
	container string // id
	pid       int    // in the node
	status    string // RUNNING, STOPPED, PAUSED
}

func (r runtime) ctr(ctx context.Context, args ...string) (string, error) {
	return r.nodes.Exec(ctx, r.node, nil, append([]string{"ctr", "--namespace", "k8s.io"}, args...)...)
}

// containerOf is a filter of containerd for one container of pods: those of a
// namespace whose name matches a regular expression.
func containerOf(namespace, container, pods string) string {
	return fmt.Sprintf(`labels."io.kubernetes.pod.namespace"==%q,labels."io.kubernetes.container.name"==%q,labels."io.kubernetes.pod.name"~=%q`,
		namespace, container, pods)
}

// running are the running containers that match a filter, in the order of their ids.
func (r runtime) running(ctx context.Context, filter string) ([]task, error) {
	ids, err := r.ctr(ctx, "containers", "list", "--quiet", filter)
	if err != nil {
		return nil, err
	}
	listing, err := r.ctr(ctx, "tasks", "list")
	if err != nil {
		return nil, err
	}
	all, err := parseTasks(listing)
	if err != nil {
		return nil, fmt.Errorf("containers of %s: %w", r.node, err)
	}
	wanted := strings.Fields(ids)
	all = slices.DeleteFunc(all, func(t task) bool { return t.status != "RUNNING" || !slices.Contains(wanted, t.container) })
	slices.SortFunc(all, func(a, b task) int { return strings.Compare(a.container, b.container) })
	return all, nil
}

// parseTasks reads the table that ctr prints: "TASK PID STATUS".
func parseTasks(listing string) ([]task, error) {
	var tasks []task
	for line := range strings.Lines(listing) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "TASK" {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %q of the list of tasks: want a container, a process and a status", line)
		}
		pid, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("line %q of the list of tasks: %w", line, err)
		}
		tasks = append(tasks, task{fields[0], pid, fields[2]})
	}
	return tasks, nil
}

// signal sends a signal to the first process of a container.
func (r runtime) signal(ctx context.Context, t task, name string) error {
	_, err := r.ctr(ctx, "tasks", "kill", "--signal", name, t.container)
	return err
}

// stopped says that a process is stopped, as by SIGSTOP.
func (r runtime) stopped(ctx context.Context, pid int) (bool, error) {
	text, err := r.nodes.Exec(ctx, r.node, nil, "cat", fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, err
	}
	state, err := parseState(text)
	return state == "T", err
}

// parseState reads the state from /proc/pid/stat: "12 (name of program) T ...".
func parseState(stat string) (string, error) {
	i := strings.LastIndexByte(stat, ')') // the name may hold anything
	fields := strings.Fields(stat[i+1:])
	if i < 0 || len(fields) == 0 {
		return "", fmt.Errorf("state of a process: %q", stat)
	}
	return fields[0], nil
}
