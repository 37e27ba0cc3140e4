package faults

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"secondhop/fixtures/manifests"
	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

func ptr[T any](value T) *T { return &value }

func (w world) replicas(name string) int {
	w.Helper()
	d, err := w.client.Typed.AppsV1().Deployments(namespace).Get(w.Context(), name, metav1.GetOptions{})
	must(w.T, err)
	return int(*d.Spec.Replicas)
}

// run makes a live pod.
func (w world) live(name, app, node string) {
	w.Helper()
	w.pod(name, app, node)
	w.status(name, corev1.PodStatus{Phase: corev1.PodRunning})
}

func testScale(w world) {
	w.deployment("sized")
	env := w.env("sized", nil)
	event := w.event(scaleKind(), env, &Scale{Replicas: ptr(1)})
	wantNotProvoked(w.T, event.Apply(w.Context()), "as many pods already")
	event = w.event(scaleKind(), env, &Scale{Replicas: ptr(3)})
	must(w.T, event.Apply(w.Context()))
	if got := w.replicas("sized"); got != 3 {
		w.Errorf("%d pods are wanted", got)
	}
	_, err := event.Confirm(shortly(w.T)) // nobody makes them
	wantNotProvoked(w.T, err, "the pods are not as many as wanted")
	must(w.T, event.Undo(w.Context()))
	if got := w.replicas("sized"); got != 1 {
		w.Errorf("%d pods are wanted afterwards", got)
	}
	w.settle("sized")
	w.pod("sized-1", "sized", "w1")
	event = w.event(scaleKind(), env, &Scale{Replicas: ptr(0)})
	must(w.T, event.Apply(w.Context()))
	w.gone("sized-1")
	w.report("sized", 0)
	outcome, err := event.Confirm(patiently(w.T))
	must(w.T, err)
	if outcome.Detail != "from 1 to 0 pods" {
		w.Errorf("outcome %+v", outcome)
	}
}

func testLabelWrite(w world) {
	w.live("marked-1", "marked", "w1")
	w.live("marked-2", "marked", "w2")
	api := w.client.Typed.CoreV1().Pods(namespace)
	labels := func(pod string) map[string]string {
		p, err := api.Get(w.Context(), pod, metav1.GetOptions{})
		must(w.T, err)
		return p.Labels
	}
	before := labels("marked-1")
	event := w.event(labelWriteKind(), w.env("marked", nil), &LabelWrite{
		Pods: PodChoice{Nodes: []int{1}}, Labels: map[string]string{"tier": "x", "app": ""}, Annotations: map[string]string{"note": "y"},
	})
	must(w.T, event.Apply(w.Context()))
	if got := labels("marked-1"); got["tier"] != "x" || got["app"] != "" {
		w.Errorf("labels %v", got)
	}
	if got := labels("marked-2"); got["tier"] != "" {
		w.Errorf("labels of another pod: %v", got)
	}
	_, err := event.Confirm(w.Context())
	must(w.T, err)
	must(w.T, event.Undo(w.Context()))
	if got := labels("marked-1"); got["app"] == "marked" && !maps.Equal(got, before) {
		w.Errorf("labels %v, want %v as before", got, before)
	}
	event = w.event(labelWriteKind(), w.env("marked", nil), &LabelWrite{Pods: PodChoice{Slot: ptr(7)}, Labels: map[string]string{"a": "b"}})
	wantNotProvoked(w.T, event.Apply(w.Context()), "there is no such pod")
}

func testOtherWriter(w world) {
	w.live("busy-1", "busy", "w1")
	event := w.event(labelWriteKind(), w.env("busy", nil), &LabelWrite{Every: 10 * time.Millisecond})
	must(w.T, event.Apply(w.Context()))
	_, err := event.Confirm(patiently(w.T))
	must(w.T, err)
	api := w.client.Typed.CoreV1().Pods(namespace)
	pod, err := api.Get(w.Context(), "busy-1", metav1.GetOptions{})
	must(w.T, err)
	if pod.Annotations[counterAnnotation] == "" {
		w.Errorf("annotations %v", pod.Annotations)
	}
	must(w.T, event.Undo(w.Context()))
	pod, err = api.Get(w.Context(), "busy-1", metav1.GetOptions{})
	must(w.T, err)
	if len(pod.Annotations) != 0 {
		w.Errorf("annotations %v are left", pod.Annotations)
	}
}

func (w world) service(name string) *corev1.Service {
	w.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"note": "kept"}}}
	service.Spec.Selector = map[string]string{"app": name}
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt(8080)}}
	made, err := w.client.Typed.CoreV1().Services(namespace).Create(w.Context(), service, metav1.CreateOptions{})
	must(w.T, err)
	return made
}

func (w world) getService(name string) *corev1.Service {
	w.Helper()
	service, err := w.client.Typed.CoreV1().Services(namespace).Get(w.Context(), name, metav1.GetOptions{})
	must(w.T, err)
	return service
}

func testServicePatch(w world) {
	before := w.service("patched")
	env := w.env("patched", nil)
	event := w.event(servicePatchKind(), env, &ServicePatch{
		Type: ptr("NodePort"), Internal: ptr("Local"), External: ptr("Local"), Distribution: ptr("PreferClose"),
		Affinity: ptr("ClientIP"), AffinityTime: ptr(10 * time.Second), NotReady: ptr(true), TopologyMode: ptr("Auto"),
	})
	must(w.T, event.Undo(w.Context())) // before Apply it has nothing to do
	must(w.T, event.Apply(w.Context()))
	s := w.getService("patched")
	if s.Spec.Type != "NodePort" || *s.Spec.InternalTrafficPolicy != "Local" || s.Spec.ExternalTrafficPolicy != "Local" ||
		*s.Spec.TrafficDistribution != "PreferClose" || *s.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds != 10 ||
		!s.Spec.PublishNotReadyAddresses || s.Annotations[topologyAnnotation] != "Auto" || s.Spec.Ports[0].NodePort == 0 {
		w.Errorf("Service %+v %v", s.Spec, s.Annotations)
	}
	_, err := event.Confirm(w.Context())
	must(w.T, err)
	same := w.event(servicePatchKind(), env, &ServicePatch{Internal: ptr("Local")})
	must(w.T, same.Apply(w.Context()))
	_, err = same.Confirm(w.Context())
	wantNotProvoked(w.T, err, "it was like that before")
	must(w.T, event.Undo(w.Context()))
	if s := w.getService("patched"); !sameService(s, before) || s.Annotations["note"] != "kept" {
		w.Errorf("Service %+v %v, want %+v as before", s.Spec, s.Annotations, before.Spec)
	}
	_, err = event.Confirm(w.Context())
	wantNotProvoked(w.T, err, "somebody has changed it back")
}

func testServiceRecreate(w world) {
	before := w.service("renewed")
	event := w.event(serviceRecreateKind(), w.env("renewed", nil), nil)
	must(w.T, event.Apply(w.Context()))
	outcome, err := event.Confirm(patiently(w.T))
	must(w.T, err)
	now := w.getService("renewed")
	if now.UID == before.UID || now.Spec.ClusterIP == before.Spec.ClusterIP || !strings.Contains(outcome.Detail, now.Spec.ClusterIP) {
		w.Errorf("Service %s at %s after %s at %s: %s", now.UID, now.Spec.ClusterIP, before.UID, before.Spec.ClusterIP, outcome.Detail)
	}
	if now.Spec.Selector["app"] != "renewed" || now.Annotations["note"] != "kept" {
		w.Errorf("Service %+v", now)
	}
	must(w.T, w.client.Typed.CoreV1().Services(namespace).Delete(w.Context(), "renewed", metav1.DeleteOptions{}))
	must(w.T, event.Undo(w.Context()))
	w.getService("renewed")
	must(w.T, event.Undo(w.Context()))

	missing := w.event(serviceRecreateKind(), w.env("renewed", nil), &ServiceRecreate{Service: "no-such"})
	wantNotProvoked(w.T, missing.Apply(w.Context()), "there is no such Service")
}

func (w world) ingress(name string) *networkingv1.Ingress {
	w.Helper()
	prefix := networkingv1.PathTypePrefix
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{policyAnnotation: "slots"}}}
	ingress.Spec.Rules = []networkingv1.IngressRule{{Host: name + ".example", IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Name: "http"}},
		}}}},
	}}}
	made, err := w.client.Typed.NetworkingV1().Ingresses(namespace).Create(w.Context(), ingress, metav1.CreateOptions{})
	must(w.T, err)
	return made
}

func testIngressRecreate(w world) {
	api := w.client.Typed.NetworkingV1().Ingresses(namespace)
	for _, order := range []RecreateOrder{DeleteFirst, CreateFirst} {
		name := "host-" + string(order)
		before := w.ingress(name)
		event := w.event(ingressRecreateKind(), w.env(name, nil), &IngressRecreate{Order: order})
		must(w.T, event.Apply(w.Context()))
		_, err := event.Confirm(w.Context())
		must(w.T, err)
		must(w.T, event.Undo(w.Context()))
		now, err := api.Get(w.Context(), name, metav1.GetOptions{})
		must(w.T, err)
		if now.UID == before.UID || now.Spec.Rules[0].Host != before.Spec.Rules[0].Host || now.Annotations[policyAnnotation] != "slots" {
			w.Errorf("%s: Ingress %+v", order, now)
		}
		if _, err := api.Get(w.Context(), name+"-again", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			w.Errorf("%s: the second Ingress: %v", order, err)
		}
		must(w.T, event.Undo(w.Context()))
	}
}

func testIngressPatch(w world) {
	w.ingress("routed")
	event := w.event(ingressPatchKind(), w.env("routed", nil), &IngressPatch{Redispatch: ptr("off"), Annotations: map[string]string{"note": "x"}}).(*ingressChange)
	serves := map[string]string{"w1": "old"}
	event.served = func(context.Context) (map[string]string, error) { return maps.Clone(serves), nil }
	must(w.T, event.Apply(w.Context()))
	annotations := func() map[string]string {
		ingress, err := w.client.Typed.NetworkingV1().Ingresses(namespace).Get(w.Context(), "routed", metav1.GetOptions{})
		must(w.T, err)
		return ingress.Annotations
	}
	if got := annotations(); got[redispatchAnnotation] != "off" || got[policyAnnotation] != "slots" || got["note"] != "x" {
		w.Errorf("annotations %v", got)
	}
	_, err := event.Confirm(shortly(w.T))
	wantNotProvoked(w.T, err, "the edge on w1 is as before")
	serves["w1"] = "new"
	_, err = event.Confirm(patiently(w.T))
	must(w.T, err)
	must(w.T, event.Undo(w.Context()))
	if got := annotations(); !maps.Equal(got, map[string]string{policyAnnotation: "slots"}) {
		w.Errorf("annotations %v afterwards", got)
	}
}

func testJobRun(w world) {
	env := w.env("web-of-job", nil)
	env.Lab.Images.Demoapp = "secondhop/demoapp:1"
	event := w.event(jobRunKind(), env, &JobRun{Name: "nightly", Pods: 2, Node: 2, Lasts: 30 * time.Second})
	must(w.T, event.Undo(w.Context()))
	must(w.T, event.Apply(w.Context()))
	api := w.client.Typed.BatchV1().Jobs(namespace)
	job, err := api.Get(w.Context(), "nightly", metav1.GetOptions{})
	must(w.T, err)
	template := job.Spec.Template
	if template.Labels["app"] != "web-of-job" || template.Spec.NodeSelector[corev1.LabelHostname] != "w2" || *job.Spec.Parallelism != 2 {
		w.Errorf("Job %+v", job.Spec)
	}
	_, err = event.Confirm(shortly(w.T))
	wantNotProvoked(w.T, err, "its pods did not run to their end")
	job.Status = batchv1.JobStatus{Succeeded: 2, StartTime: ptr(metav1.Now())}
	_, err = api.UpdateStatus(w.Context(), job, metav1.UpdateOptions{})
	must(w.T, err)
	_, err = event.Confirm(patiently(w.T))
	must(w.T, err)
	must(w.T, event.Undo(w.Context()))
	if _, err := api.Get(w.Context(), "nightly", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("the Job is left: %v", err)
	}
}

func testPodFail(w world) {
	w.live("doomed-1", "doomed", "w1")
	w.live("doomed-2", "doomed", "w2")
	event := w.event(podFailKind(), w.env("doomed", nil), &PodFail{Pods: PodChoice{Nodes: []int{1}}})
	must(w.T, event.Apply(w.Context()))
	api := w.client.Typed.CoreV1().Pods(namespace)
	for name, want := range map[string]bool{"doomed-1": true, "doomed-2": false} {
		pod, err := api.Get(w.Context(), name, metav1.GetOptions{})
		must(w.T, err)
		if (pod.Spec.ActiveDeadlineSeconds != nil) != want {
			w.Errorf("%s has a deadline of %v", name, pod.Spec.ActiveDeadlineSeconds)
		}
	}
	_, err := event.Confirm(shortly(w.T))
	wantNotProvoked(w.T, err, "the pods have not failed")
	w.status("doomed-1", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded"})
	_, err = event.Confirm(patiently(w.T))
	must(w.T, err)
	must(w.T, event.Undo(w.Context()))
	left, err := api.Get(w.Context(), "doomed-1", metav1.GetOptions{})
	if err == nil && left.DeletionTimestamp == nil {
		w.Error("the failed pod is left")
	}
}

func testRolloutPace(w world) {
	w.deployment("paced")
	w.pod("paced-1", "paced", "w1")
	event := w.event(rolloutKind(), w.env("paced", nil), &Rollout{Target: "app", Pacing: Together, MaxSurge: ptr(1)})
	must(w.T, event.Apply(w.Context()))
	api := w.client.Typed.AppsV1().Deployments(namespace)
	pace := func() string {
		d, err := api.Get(w.Context(), "paced", metav1.GetOptions{})
		must(w.T, err)
		return d.Spec.Strategy.RollingUpdate.MaxSurge.String() + " " + d.Spec.Strategy.RollingUpdate.MaxUnavailable.String()
	}
	if got := pace(); got != "1 2" {
		w.Errorf("rolls by %s, want 1 2", got)
	}
	must(w.T, event.Undo(w.Context()))
	if got := pace(); got != "2 2" {
		w.Errorf("rolls by %s afterwards, want 2 2 as before", got)
	}
}

func testRolloutInTurn(w world) {
	stamp := func(name string) string {
		d, err := w.client.Typed.AppsV1().Deployments(namespace).Get(w.Context(), name, metav1.GetOptions{})
		must(w.T, err)
		return d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]
	}
	for _, name := range []string{"turn-1", "turn-2"} {
		w.deployment(name)
		w.pod(name+"-old", name, "w1")
	}
	env := w.env("turn", nil)
	env.App.Workloads = []kube.Workload{deployment("turn-1"), deployment("turn-2")}
	event := w.event(rolloutKind(), env, &Rollout{Target: "app", Pacing: NodeByNode})
	must(w.T, event.Apply(w.Context()))
	if stamp("turn-1") == "" || stamp("turn-2") != "" {
		w.Errorf("restarts %q and %q, want only the first", stamp("turn-1"), stamp("turn-2"))
	}
	if _, err := event.Confirm(shortly(w.T)); err == nil || !strings.Contains(err.Error(), "turn-1") || stamp("turn-2") != "" {
		w.Errorf("error %v; the second began with %q before the first was done", err, stamp("turn-2"))
	}
	w.settle("turn-1")
	w.gone("turn-1-old")
	w.pod("turn-1-new", "turn-1", "w1")
	ctx, cancel := context.WithCancel(patiently(w.T))
	done := make(chan error, 1)
	go func() {
		_, err := event.Confirm(ctx)
		done <- err
	}()
	must(w.T, wait.Until(patiently(w.T), "the second to begin", podPeriod, func(context.Context) error {
		if stamp("turn-2") == "" {
			return errors.New("it has not")
		}
		return nil
	}))
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "turn-2") {
		w.Errorf("error %v, although nobody replaced the second", err)
	}
}

// testOperatorWords plays an usher on which each word is tried.
func testOperatorWords(w world) {
	ctx := w.Context()
	_, err := w.client.Typed.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.LabNamespace}}, metav1.CreateOptions{})
	must(w.T, err)
	text, err := manifests.Usher{Namespace: manifests.LabNamespace, Image: "secondhop/usher:1", Args: []string{"--lease-duration=5s"}}.Render()
	must(w.T, err)
	_, err = w.client.Apply(ctx, text)
	must(w.T, err)
	testWatchDelay(w)
	testDuplicate(w)
	testFreezeAndCrash(w)
}

func (w world) usherArgs() string {
	d, err := w.client.Typed.AppsV1().Deployments(manifests.LabNamespace).Get(w.Context(), "usher", metav1.GetOptions{})
	must(w.T, err)
	return strings.Join(d.Spec.Template.Spec.Containers[0].Args, " ")
}

func testWatchDelay(w world) {
	event := w.event(watchDelayKind(), w.env("web", nil), &WatchDelay{By: 3 * time.Second})
	must(w.T, event.Apply(w.Context()))
	if got := w.usherArgs(); got != "--lease-duration=5s --fault=delay-watch:3s" {
		w.Errorf("usher runs with %s", got)
	}
	_, err := event.Confirm(shortly(w.T))
	wantNotProvoked(w.T, err, "usher does not run with it")
	if err := event.Undo(shortly(w.T)); err == nil {
		w.Error("undone, although nobody restarted usher")
	}
	if got := w.usherArgs(); got != "--lease-duration=5s" {
		w.Errorf("usher runs with %s afterwards", got)
	}
}

func testDuplicate(w world) {
	event := w.event(operatorDuplicateKind(), w.env("web", nil), nil)
	must(w.T, event.Apply(w.Context()))
	must(w.T, event.Undo(w.Context()))
	again := w.event(operatorDuplicateKind(), w.env("web", nil), nil)
	must(w.T, again.Apply(w.Context()))
	d, err := w.client.Typed.AppsV1().Deployments(manifests.LabNamespace).Get(w.Context(), "usher", metav1.GetOptions{})
	must(w.T, err)
	if *d.Spec.Replicas != 2 {
		w.Errorf("%d ushers", *d.Spec.Replicas)
	}
}

// hold has the lease name a holder.
func (w world) hold(holder string) {
	w.Helper()
	api := w.client.Typed.CoordinationV1().Leases(manifests.LabNamespace)
	_ = api.Delete(w.Context(), "usher", metav1.DeleteOptions{})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "usher"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	_, err := api.Create(w.Context(), lease, metav1.CreateOptions{})
	must(w.T, err)
}

func testFreezeAndCrash(w world) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "usher-7"}}
	pod.Spec.NodeName = "cp"
	pod.Spec.Containers = []corev1.Container{{Name: "usher", Image: "x:1"}}
	_, err := w.client.Typed.CoreV1().Pods(manifests.LabNamespace).Create(w.Context(), pod, metav1.CreateOptions{})
	must(w.T, err)
	w.hold("usher-7_first")
	node := &scriptedNode{filter: `"^usher-7$"`, tasks: []task{{"c1", 71, "RUNNING"}}, states: map[int]string{71: "S"}}
	lab := operator{w.client, node}

	pause := &freeze{operator: lab}
	must(w.T, pause.Undo(w.Context()))
	node.deaf = true
	must(w.T, pause.Apply(w.Context()))
	_, err = pause.Confirm(w.Context())
	wantNotProvoked(w.T, err, "the process runs")
	node.deaf = false
	must(w.T, pause.Apply(w.Context()))
	_, err = pause.Confirm(w.Context())
	must(w.T, err)
	must(w.T, pause.Undo(w.Context()))
	if node.states[71] != "S" {
		w.Errorf("state %s after the pause", node.states[71])
	}

	end := &crash{operator: lab}
	must(w.T, end.Apply(w.Context()))
	node.start(task{"c2", 72, "RUNNING"})
	_, err = end.Confirm(shortly(w.T)) // it runs, but the lease is not its own yet
	wantNotProvoked(w.T, err, "the lease is still that of the one killed")
	w.hold("usher-7_second")
	outcome, err := end.Confirm(patiently(w.T))
	must(w.T, err)
	if outcome.Detail != "process 72 leads after 71" {
		w.Errorf("outcome %+v", outcome)
	}
}
