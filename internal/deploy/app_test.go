package deploy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	demoapp "secondhop/cmd/demoapp/app"
	"secondhop/fixtures/manifests"
	"secondhop/internal/failure"
	"secondhop/internal/kube"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	spec := AppSpec{Placement: []int{4, 0, 1}, Stop: StopExit, Grace: -1, RedispatchOff: true}.withDefaults()
	app, values := spec.plan([]string{"w1", "w2", "w3", "w4"}, "secondhop/demoapp:1")
	if diff := cmp.Diff(map[string]int{"w1": 4, "w2": 0, "w3": 1, "w4": 0}, app.PodsPerNode); diff != "" {
		t.Errorf("pods per node (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]manifests.AppWorkload{
		{Kind: "Deployment", Name: "my-app-1", Node: "w1", Replicas: 4}, {Kind: "Deployment", Name: "my-app-3", Node: "w3", Replicas: 1},
	}, values.Workloads); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
	want := []manifests.EnvVar{{Name: "GRACE", Value: "0s"}, {Name: "START_DELAY", Value: "0s"}, {Name: "STOP", Value: "exit"}, {Name: "AGENT", Value: "normal"}}
	if diff := cmp.Diff(want, values.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if app.Backend() != "app.my-app.80.slots.noredispatch" || app.PlainBackend() != "app.my-app.80.plain.noredispatch" || app.OwnerBackend() != "app.my-app.80.plain" {
		t.Errorf("backends %s, %s, %s", app.Backend(), app.PlainBackend(), app.OwnerBackend())
	}
	if values.MaxSurge != 1 || values.MaxUnavailable != 0 || values.Slots != 4 || len(app.SlotServices()) != 4 {
		t.Errorf("values %+v", values)
	}
}

func TestPlanOfOtherKinds(t *testing.T) {
	t.Parallel()
	workers := []string{"w1", "w2"}
	for _, tc := range []struct {
		spec    AppSpec
		want    []manifests.AppWorkload
		pods    int
		perNode map[string]int
	}{
		{
			AppSpec{Kind: kube.StatefulSet, Placement: []int{0, 2}},
			[]manifests.AppWorkload{{Kind: "StatefulSet", Name: "my-app-2", Node: "w2", Replicas: 2}}, 2, map[string]int{"w1": 0, "w2": 2},
		},
		{AppSpec{Replicas: 5}, []manifests.AppWorkload{{Kind: "Deployment", Name: "my-app", Replicas: 5}}, 5, map[string]int{"w1": 0, "w2": 0}},
		{AppSpec{Kind: kube.DaemonSet}, []manifests.AppWorkload{{Kind: "DaemonSet", Name: "my-app"}}, 2, map[string]int{"w1": 1, "w2": 1}},
	} {
		must(t, tc.spec.validate(len(workers)))
		app, values := tc.spec.withDefaults().plan(workers, "image")
		if diff := cmp.Diff(tc.want, values.Workloads); diff != "" {
			t.Errorf("%+v: workloads (-want +got):\n%s", tc.spec, diff)
		}
		if diff := cmp.Diff(tc.perNode, app.PodsPerNode); diff != "" || app.Pods() != tc.pods {
			t.Errorf("%+v: %d pods, per node (-want +got):\n%s", tc.spec, app.Pods(), diff)
		}
		if len(app.Workloads) != 1 || app.Workloads[0] != (kube.Workload{Kind: kube.WorkloadKind(tc.want[0].Kind), Name: tc.want[0].Name}) {
			t.Errorf("%+v: workloads %v", tc.spec, app.Workloads)
		}
	}
}

// What the harness sets must be what the application reads.
func TestTheApplicationReadsItsBehaviour(t *testing.T) {
	t.Parallel()
	behaviour := Behaviour{
		ServeBeforeReady: true, Latency: 20 * time.Millisecond, Capacity: 300, ColdFor: 30 * time.Second, ColdTimes: 5,
		PauseEvery: 20 * time.Second, PauseFor: 2 * time.Second, KeepAlive: 5 * time.Second, Closing: ClosingAnnounced,
		PreStop: 3 * time.Second, FailReadiness: true,
	}
	_, values := AppSpec{Placement: []int{1}, Stop: StopExit, Agent: AgentDown, Behaviour: behaviour}.withDefaults().plan([]string{"w1"}, "image")
	env := map[string]string{}
	for _, v := range values.Env {
		env[v.Name] = v.Value
	}
	config, err := demoapp.ConfigFrom(func(name string) string { return env[name] })
	must(t, err)
	want := demoapp.Settings{
		Latency: behaviour.Latency, Capacity: behaviour.Capacity, ColdFor: behaviour.ColdFor, ColdTimes: behaviour.ColdTimes,
		PauseEvery: behaviour.PauseEvery, PauseFor: behaviour.PauseFor, KeepAlive: behaviour.KeepAlive, Closing: demoapp.ClosingAnnounced,
		AppPort: demoapp.PortOpen, Stop: demoapp.StopExit, FailReadiness: true, Ready: true, Agent: demoapp.AgentDown, Weight: 100,
	}
	if diff := cmp.Diff(want, config.Settings); diff != "" || !config.ServeBeforeReady {
		t.Errorf("serves before ready: %v, settings (-want +got):\n%s", config.ServeBeforeReady, diff)
	}
	if values.PreStopSeconds != 3 || values.TerminationSeconds != 24 {
		t.Errorf("sleeps %d s before the stop, which may take %d s", values.PreStopSeconds, values.TerminationSeconds)
	}
	for _, mode := range []AgentMode{AgentNormal, AgentNeverReady, AgentAlwaysReady, AgentWeightOnly, AgentDown, AgentDrain, AgentMaint, AgentUnknown, AgentOff} {
		if _, err := (demoapp.Settings{}).With([]string{"agent=" + string(mode)}); err != nil {
			t.Error(err)
		}
	}
}

func TestBadBehaviour(t *testing.T) {
	t.Parallel()
	for want, behaviour := range map[string]Behaviour{
		"whole seconds":  {PreStop: 1500 * time.Millisecond},
		"no time":        {PauseEvery: time.Second, PauseFor: time.Second},
		"want 1 or more": {ColdTimes: 0.5},
		"-1 is negative": {Capacity: -1},
	} {
		err := AppSpec{Placement: []int{1}, Behaviour: behaviour}.validate(1)
		if err == nil || !strings.Contains(err.Error(), want) || failure.ExitCode(err) != int(failure.Usage) {
			t.Errorf("%+v: %v, want %q", behaviour, err, want)
		}
	}
}

// The kubelet must not cut a graceful stop short.
func TestTerminationLeavesRoomForTheGrace(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{-1, 0, 6 * time.Second, 10500 * time.Millisecond} {
		_, values := AppSpec{Placement: []int{1}, Grace: grace}.withDefaults().plan([]string{"w1"}, "image")
		effective := grace
		if grace == 0 {
			effective = DefaultGrace
		}
		if limit := time.Duration(values.TerminationSeconds) * time.Second; limit < max(effective, 0)+10*time.Second {
			t.Errorf("grace %s: killed after %s", grace, limit)
		}
	}
}

func TestWithoutSlotsThereAreNoSlotServices(t *testing.T) {
	t.Parallel()
	app, values := AppSpec{Placement: []int{1}, Policy: PolicyEndpoints}.withDefaults().plan([]string{"w1"}, "image")
	if values.Slots != 0 || app.SlotServices() != nil || app.Backend() != "app.my-app.80.endpoints" {
		t.Errorf("slots %d, Services %v, backend %s", values.Slots, app.SlotServices(), app.Backend())
	}
}

func TestBadPlacements(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		placement []int
		want      string
	}{
		{[]int{1, 1, 1}, "names 3 workers, the lab has 2"},
		{[]int{1, -1}, "cannot be negative"},
		{[]int{0, 0}, "needs a pod"},
		{nil, "needs a pod"},
	} {
		err := AppSpec{Placement: tc.placement}.validate(2)
		if err == nil || !strings.Contains(err.Error(), tc.want) || failure.ExitCode(err) != int(failure.Usage) {
			t.Errorf("%v: %v, want %q and exit code 3", tc.placement, err, tc.want)
		}
	}
}

func TestRenderedAppIsReadByTheApplier(t *testing.T) {
	t.Parallel()
	_, values := AppSpec{Placement: []int{2, 1}}.withDefaults().plan([]string{"w1", "w2"}, "image")
	text, err := values.Render()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kube.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, kube.Describe(object))
	}
	want := []string{"Namespace app", "Service app/my-app", "Ingress app/my-app", "Deployment app/my-app-1", "Deployment app/my-app-2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHashTellsValuesApart(t *testing.T) {
	t.Parallel()
	base := manifests.Edge{Image: "a", Args: []string{"x"}}
	other := base
	other.Args = []string{"y"}
	if same := base; hashOf(base) != hashOf(same) || hashOf(base) == hashOf(other) {
		t.Error("equal values must have equal hashes, others not")
	}
	if len(hashOf(base)) != 12 {
		t.Errorf("hash %s", hashOf(base))
	}
}
