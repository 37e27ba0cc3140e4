package observe

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"secondhop/internal/envtest"
)

func apiClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(envtest.Start(t).Admin())
	must(t, err)
	_, err = client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}}, metav1.CreateOptions{})
	must(t, err)
	return client
}

func TestWatchersOnAnAPIServer(t *testing.T) {
	t.Parallel()
	client := apiClient(t)
	t.Run("slots", func(t *testing.T) { testSlotWatcher(t, client) })
	t.Run("pods", func(t *testing.T) { testPodWatcher(t, client) })
}

// A violation that is there for one change and healed by the next, with nothing
// in between, must not be missed.
func testSlotWatcher(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	slices0 := client.DiscoveryV1().EndpointSlices("app")
	write := func(endpoints ...[2]string) {
		t.Helper()
		slice := slotSlice("my-app-slot-0-x", "my-app-slot-0", endpoints...)
		slice.AddressType = discoveryv1.AddressTypeIPv4
		_, err := slices0.Update(ctx, slice, metav1.UpdateOptions{})
		must(t, err)
	}
	first := slotSlice("my-app-slot-0-x", "my-app-slot-0", [2]string{"w1", "a"})
	first.AddressType = discoveryv1.AddressTypeIPv4
	_, err := slices0.Create(ctx, first, metav1.CreateOptions{})
	must(t, err)
	watcher, err := WatchSlots(ctx, client, "app", []string{"my-app-slot-0", "my-app-slot-1"}, nil)
	must(t, err)
	const rounds = 50
	for n := range rounds {
		old, successor := fmt.Sprintf("p%d", n), fmt.Sprintf("p%d", n+1)
		write([2]string{"w1", old}, [2]string{"w2", "z"})
		write([2]string{"w1", old}, [2]string{"w1", successor}, [2]string{"w2", "z"})
	}
	write([2]string{"w1", "last"})
	unwatched := slotSlice("other", "other-slot-0", [2]string{"w1", "a"}, [2]string{"w1", "b"})
	unwatched.AddressType = discoveryv1.AddressTypeIPv4
	_, err = slices0.Create(ctx, unwatched, metav1.CreateOptions{})
	must(t, err)
	report, err := watcher.Finish(shortly(t))
	must(t, err)
	if len(report.Violations) != rounds {
		t.Errorf("%d violations were seen, %d were made", len(report.Violations), rounds)
	}
	if !report.Complete() || report.Events != 2*rounds+1 {
		t.Errorf("coverage %+v, %d changes were made", report.Coverage, 2*rounds+1)
	}
	for n, v := range report.Violations {
		if want := []string{fmt.Sprintf("p%d", n), fmt.Sprintf("p%d", n+1)}; v.Node != "w1" || !sameSet(v.Pods, want) {
			t.Fatalf("violation %d is %s, want %v on w1", n, v, want)
		}
	}
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func testPodWatcher(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	pods := client.CoreV1().Pods("app")
	watcher, err := WatchPods(ctx, client, "app", "app=web", nil)
	must(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "web"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "x:1"}}
	_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	must(t, pods.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: corev1.ObjectReference{Kind: "Node", Name: "w1"},
	}, metav1.CreateOptions{}))
	now, err := pods.Get(ctx, "a", metav1.GetOptions{})
	must(t, err)
	now.Labels[SlotLabel] = "2"
	_, err = pods.Update(ctx, now, metav1.UpdateOptions{})
	must(t, err)
	must(t, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
	none := int64(0)
	must(t, pods.Delete(ctx, "a", metav1.DeleteOptions{GracePeriodSeconds: &none}))
	report, err := watcher.Finish(shortly(t))
	must(t, err)
	if len(report.Pods) != 1 || !report.Complete() {
		t.Fatalf("report %+v", report)
	}
	life := report.Pods[0]
	if life.Node != "w1" || life.Slot != "2" || life.Before {
		t.Errorf("life %+v", life)
	}
	before := life.Created
	for _, station := range []struct {
		name string
		at   interface{ IsZero() bool }
		ok   bool
	}{
		{"scheduled", life.Scheduled, !life.Scheduled.Before(before)},
		{"labelled", life.Labelled, !life.Labelled.Before(life.Scheduled)},
		{"deleting", life.Deleting, !life.Deleting.Before(life.Labelled)},
		{"gone", life.Gone, !life.Gone.Before(life.Deleting)},
	} {
		if station.at.IsZero() || !station.ok {
			t.Errorf("%s is missing or out of order in %+v", station.name, life)
		}
	}
	if latencies := report.LabelLatencies(); len(latencies) != 1 || latencies[0] <= 0 {
		t.Errorf("latencies %v", latencies)
	}
}
