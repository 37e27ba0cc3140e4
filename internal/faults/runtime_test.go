package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"secondhop/clusters"
	"secondhop/internal/deploy"
	"secondhop/internal/kube"
)

// scriptedNode answers the commands that this package runs in nodes, as containerd's
// client and the kernel do.
type scriptedNode struct {
	filter string // that a listing must contain
	tasks  []task
	states map[int]string
	deaf   bool // signals have no effect
}

func (n *scriptedNode) start(t task) { n.tasks = append(n.tasks, t) }

func (n *scriptedNode) Exec(_ context.Context, _ string, _ io.Reader, argv ...string) (string, error) {
	command := strings.Join(argv, " ")
	switch {
	case strings.HasPrefix(command, "ctr --namespace k8s.io containers list --quiet "):
		if filter := argv[len(argv)-1]; !strings.Contains(filter, n.filter) {
			return "", nil
		}
		var ids []string
		for _, t := range n.tasks {
			ids = append(ids, t.container)
		}
		return strings.Join(ids, "\n") + "\n", nil
	case command == "ctr --namespace k8s.io tasks list":
		table := "TASK    PID    STATUS\n"
		for _, t := range n.tasks {
			table += fmt.Sprintf("%s    %d    %s\n", t.container, t.pid, t.status)
		}
		return table, nil
	case argv[0] == "cat":
		var pid int
		if _, err := fmt.Sscanf(argv[1], "/proc/%d/stat", &pid); err != nil || n.states[pid] == "" {
			return "", errors.New("no such process")
		}
		return fmt.Sprintf("%d (us) her) %s 1 1", pid, n.states[pid]), nil
	case strings.HasPrefix(command, "ctr --namespace k8s.io tasks kill --signal "):
		return "", n.signal(argv[6], argv[7])
	}
	return "", fmt.Errorf("unexpected command %s", command)
}

func (n *scriptedNode) signal(name, container string) error {
	i := slices.IndexFunc(n.tasks, func(t task) bool { return t.container == container })
	if i < 0 {
		return errors.New("no such container")
	}
	switch {
	case n.deaf:
	case name == "SIGSTOP":
		n.states[n.tasks[i].pid] = "T"
	case name == "SIGCONT":
		n.states[n.tasks[i].pid] = "S"
	case name == "SIGKILL":
		n.tasks = slices.Delete(n.tasks, i, i+1)
	}
	return nil
}

func TestPodKill(t *testing.T) {
	t.Parallel()
	app := &deploy.App{Spec: deploy.AppSpec{Namespace: "app", Name: "web"}, Workloads: []kube.Workload{deployment("web-1")}}
	node := &scriptedNode{filter: `"^(web-1-`, tasks: []task{{"a", 1, "RUNNING"}, {"b", 2, "STOPPED"}, {"c", 3, "RUNNING"}}, deaf: true}
	event := &kill{how: PodKill{Count: 1, Signal: "KILL"}, app: app, nodes: []clusters.Node{{Name: "w1"}}, exec: node}
	must(t, event.Apply(t.Context()))
	_, err := event.Confirm(shortly(t))
	wantNotProvoked(t, err, "process 1 runs on w1")
	node.deaf = false
	must(t, event.Apply(t.Context()))
	node.start(task{"a2", 4, "RUNNING"}) // the kubelet's answer
	outcome, err := event.Confirm(patiently(t))
	must(t, err)
	if outcome.Detail != "1 containers killed" || !slices.Contains(node.tasks, task{"c", 3, "RUNNING"}) {
		t.Errorf("outcome %+v, left %v", outcome, node.tasks)
	}
	node.tasks = nil
	wantNotProvoked(t, event.Apply(t.Context()), "no such container runs")
}

func TestNamesOfPods(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(podNames([]kube.Workload{
		deployment("web-1"), {Kind: kube.StatefulSet, Name: "db"}, {Kind: kube.DaemonSet, Name: "log.v2"},
	}))
	for name, want := range map[string]bool{
		"web-1-6c9f8d5b7-x2x9k": true, "db-0": true, "db-12": true, "log.v2-abcde": true,
		"web-6c9f8d5b7-x2x9k": false, "web-12-6c9f8d5b7-x2x9k": false, "web-1-x": false, "db-x": false, "logxv2-abcde": false, "xdb-0": false,
	} {
		if names.MatchString(name) != want {
			t.Errorf("%s matches: %v", name, !want)
		}
	}
}

func TestParseTasks(t *testing.T) {
	t.Parallel()
	got, err := parseTasks("TASK      PID     STATUS    \n0a1b      1702    RUNNING\n9f9f      12      STOPPED\n\n")
	if want := []task{{"0a1b", 1702, "RUNNING"}, {"9f9f", 12, "STOPPED"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("tasks %v, %v", got, err)
	}
	for _, bad := range []string{"a b", "a b c", "a 1 RUNNING x"} {
		if _, err := parseTasks(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzParseTasks(f *testing.F) {
	f.Add("TASK PID STATUS\na 1 RUNNING\n")
	f.Fuzz(func(t *testing.T, listing string) {
		tasks, err := parseTasks(listing)
		if err != nil {
			return
		}
		for _, task := range tasks {
			if task.container == "" || task.status == "" {
				t.Errorf("%q gave %+v", listing, task)
			}
		}
	})
}

func FuzzParseState(f *testing.F) {
	f.Add("12 (a b) T 1")
	f.Add(")")
	f.Fuzz(func(t *testing.T, stat string) {
		if state, err := parseState(stat); err == nil && state == "" {
			t.Errorf("%q has no state, and no error", stat)
		}
	})
}
