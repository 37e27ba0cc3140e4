package faults

import (
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/clusters"
	"secondhop/internal/deploy"
	"secondhop/internal/failure"
	"secondhop/internal/kube"
)

// plainEnv is a lab of two workers that nothing reaches.
func plainEnv() Env {
	cluster := &clusters.Cluster{Nodes: []clusters.Node{{Name: "cp", ControlPlane: true}, {Name: "w1"}, {Name: "w2"}}}
	app := func(name string, kind kube.WorkloadKind) *deploy.App {
		return &deploy.App{
			Spec:      deploy.AppSpec{Namespace: namespace, Name: name, Kind: kind},
			Workloads: []kube.Workload{{Kind: kind, Name: name + "-1"}, {Kind: kind, Name: name + "-2"}},
		}
	}
	return Env{
		Lab: &deploy.Lab{Cluster: cluster, Client: &kube.Client{}}, Cluster: cluster,
		App: app("web", kube.Deployment), Others: []*deploy.App{app("log", kube.DaemonSet)},
	}
}

func TestParametersThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		word string
		with any
		want string
	}{
		{"agent_set", &AgentSet{}, "sets nothing"},
		{"agent_set", &AgentSet{Weight: ptr(300)}, "weight 300: want 0 to 256"},
		{"agent_set", &AgentSet{Mode: ptr(deploy.AgentMode("loud"))}, `mode "loud"`},
		{"app_set", &AppSet{}, "sets nothing"},
		{"app_set", &AppSet{Latency: ptr(-time.Second)}, "-1s is negative"},
		{"app_set", &AppSet{Capacity: ptr(-1.0)}, "-1 is negative"},
		{"app_set", &AppSet{ColdTimes: ptr(0.5)}, "coldTimes 0.5"},
		{"app_set", &AppSet{Port: ptr("drop")}, `port "drop": want one of ["open" "refuse"]`},
		{"app_set", &AppSet{Port: ptr("open"), Pods: PodChoice{Nodes: []int{3}}}, "there is no worker 3: the lab has 2"},
		{"app_set", &AppSet{Port: ptr("open"), Pods: PodChoice{Workload: "db"}}, "there is no workload db"},
		{"app_set", &AppSet{Port: ptr("open"), Pods: PodChoice{Count: -1}}, "count -1"},
		{"dns_set", &DNSSet{Servers: -1}, "servers -1"},
		{"ingress_patch", &IngressPatch{}, "changes nothing"},
		{"ingress_patch", &IngressPatch{Redispatch: ptr("never")}, `redispatch "never"`},
		{"ingress_recreate", &IngressRecreate{Order: "both"}, `order "both"`},
		{"ingress_reload", &IngressReload{Nodes: []int{0}}, "there is no worker 0"},
		{"job_run", &JobRun{Name: "Big Job", Pods: 1, Lasts: time.Second}, `name "Big Job"`},
		{"job_run", &JobRun{Name: "j", Lasts: time.Second}, "pods 0: want 1 or more"},
		{"job_run", &JobRun{Name: "j", Pods: 1}, "lasts 0s"},
		{"job_run", &JobRun{Name: "j", Pods: 1, Lasts: time.Second, Node: 9}, "there is no worker 9"},
		{"label_write", &LabelWrite{}, "writes nothing"},
		{"label_write", &LabelWrite{Every: -1}, "negative"},
		{"operator_duplicate", &OperatorDuplicate{Replicas: 1}, "replicas 1"},
		{"pod_delete", &PodDelete{Until: UntilGone, Force: true, Grace: ptr(time.Second)}, "force leaves no grace"},
		{"pod_delete", &PodDelete{Until: UntilGone, Grace: ptr(1500 * time.Millisecond)}, "whole seconds"},
		{"pod_delete", &PodDelete{Until: "soon"}, `until "soon"`},
		{"pod_fail", &PodFail{Pods: PodChoice{Count: -1}}, "count -1"},
		{"pod_kill", &PodKill{Signal: "HUP"}, `signal "HUP"`},
		{"pod_kill", &PodKill{Signal: "KILL", Count: -1}, "count -1"},
		{"rollout", &Rollout{Pacing: "slowly"}, `pacing "slowly"`},
		{"rollout", &Rollout{Pacing: OneByOne, MaxSurge: ptr(1)}, "one-by-one says"},
		{"rollout", &Rollout{Pacing: Together, MaxSurge: ptr(0), MaxUnavailable: ptr(0)}, "cannot both be 0"},
		{"rollout", &Rollout{Pacing: Together, MaxSurge: ptr(-1)}, "negative"},
		{"rollout", &Rollout{Pacing: Together, Target: "db"}, "there is no workload db"},
		{"scale", &Scale{}, "replicas or a placement"},
		{"scale", &Scale{Replicas: ptr(1), Placement: []int{1}}, "replicas or a placement"},
		{"scale", &Scale{Replicas: ptr(-1)}, "negative"},
		{"scale", &Scale{Placement: []int{1, 1, 1}}, "names 3 workers"},
		{"scale", &Scale{Workload: "log", Replicas: ptr(1)}, "log is a DaemonSet"},
		{"service_patch", &ServicePatch{Service: "x"}, "changes nothing"},
		{"service_patch", &ServicePatch{Internal: ptr("Remote")}, `internalTrafficPolicy "Remote"`},
		{"service_patch", &ServicePatch{AffinityTime: ptr(time.Millisecond)}, "whole seconds"},
		{"watch_delay", &WatchDelay{}, "by 0s"},
	} {
		kind, ok := Find(tc.word)
		if !ok {
			t.Errorf("there is no word %s", tc.word)
			continue
		}
		_, err := kind.New(plainEnv(), tc.with)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "event "+tc.word) {
			t.Errorf("%s %+v: %v, want %q", tc.word, tc.with, err, tc.want)
		}
		if failure.ExitCode(err) != int(failure.Usage) {
			t.Errorf("%s %+v: exit code %d", tc.word, tc.with, failure.ExitCode(err))
		}
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	app := plainEnv().App
	one, two := app.Workloads[0], app.Workloads[1]
	workers := []string{"w1", "w2", "w3"}
	for _, tc := range []struct {
		p    Scale
		want map[kube.Workload]int
	}{
		{Scale{Replicas: ptr(0)}, map[kube.Workload]int{one: 0, two: 0}},
		{Scale{Replicas: ptr(5)}, map[kube.Workload]int{one: 3, two: 2}},
		{Scale{Replicas: ptr(1)}, map[kube.Workload]int{one: 1, two: 0}},
		{Scale{Placement: []int{4}}, map[kube.Workload]int{one: 4}},
		{Scale{Placement: []int{0, 2, 0}}, map[kube.Workload]int{one: 0, two: 2}},
	} {
		got, err := tc.p.replicas(app, workers)
		if err != nil || !maps.Equal(got, tc.want) {
			t.Errorf("%+v: %v, %v, want %v", tc.p, got, err, tc.want)
		}
	}
	_, err := Scale{Placement: []int{1, 1, 1}}.replicas(app, workers)
	if err == nil || !strings.Contains(err.Error(), "web has no workload on worker 3") {
		t.Errorf("error = %v", err)
	}
}

func TestChoiceOfPods(t *testing.T) {
	t.Parallel()
	pod := func(name, node, slot string, phase corev1.PodPhase, going bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{slotLabel: slot}}}
		p.Spec.NodeName, p.Status.Phase = node, phase
		if going {
			p.DeletionTimestamp = ptr(metav1.Now())
		}
		return p
	}
	all := []corev1.Pod{
		pod("a", "w1", "0", corev1.PodRunning, false), pod("b", "w1", "1", corev1.PodRunning, false), pod("c", "w1", "2", corev1.PodPending, false),
		pod("d", "w2", "0", corev1.PodRunning, true), pod("e", "w2", "1", corev1.PodRunning, false), pod("f", "cp", "1", corev1.PodRunning, false),
	}
	for _, tc := range []struct {
		choice PodChoice
		stuck  bool
		want   string
	}{
		{PodChoice{}, false, "a b e"},
		{PodChoice{Nodes: []int{2}}, false, "e"},
		{PodChoice{Slot: ptr(1)}, false, "b e"},
		{PodChoice{Count: 1}, false, "a e"},
		{PodChoice{Slot: ptr(1), Nodes: []int{1}, Count: 2}, false, "b"},
		{PodChoice{Slot: ptr(3)}, false, ""},
		{PodChoice{}, true, "d"},
	} {
		chosen, err := plainEnv().choose(tc.choice)
		must(t, err)
		chosen.stuck = tc.stuck
		var got []string
		for _, p := range chosen.pick(all) {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%+v (stuck %v): %v, want %s", tc.choice, tc.stuck, got, tc.want)
		}
	}
}
