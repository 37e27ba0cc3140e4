package deploy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	if diff := cmp.Diff([]manifests.AppDeployment{{Name: "my-app-1", Node: "w1", Replicas: 4}, {Name: "my-app-3", Node: "w3", Replicas: 1}}, values.Deployments); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
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
