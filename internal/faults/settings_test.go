package faults

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	demoapp "secondhop/cmd/demoapp/app"
	"secondhop/internal/deploy"
)

// application runs the real application of one pod, on loopback.
func application(t *testing.T) (demoapp.Config, demoapp.Ports) {
	t.Helper()
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		must(t, err)
		return l
	}
	ports := demoapp.Ports{App: listen("tcp", "127.0.0.1:0"), Agent: listen("tcp", "127.0.0.1:0")}
	ports.Control = listen("unix", "@faults-test-"+ports.App.Addr().String())
	config, err := demoapp.ConfigFrom(func(name string) string { return map[string]string{"GRACE": "0s"}[name] })
	must(t, err)
	config.AgentPort = ports.Agent.Addr().(*net.TCPAddr).Port
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- demoapp.Run(ctx, config, ports, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	return config, ports
}

// program runs what the image runs in a pod.
func program(ctx context.Context, config demoapp.Config, ports demoapp.Ports, argv []string) (string, error) {
	socket := ports.Control.Addr().String()
	switch argv[1] {
	case "set":
		return "", demoapp.Change(ctx, socket, argv[2:])
	case "get":
		return demoapp.Show(ctx, socket)
	case "poll":
		return demoapp.Poll(ctx, config)
	}
	return "", fmt.Errorf("unexpected program %q", argv)
}

func testSettings(w world) {
	t := w.T
	config, ports := application(t)
	w.live("set-1", "set", "w1")
	w.live("set-2", "set", "w2")
	show := func() string {
		text, err := demoapp.Show(t.Context(), ports.Control.Addr().String())
		must(t, err)
		return text
	}
	untouched := show()
	for _, tc := range []struct {
		kind Kind
		with any
		want []string
	}{
		{appSetKind(), &AppSet{
			Pods: PodChoice{Nodes: []int{1}}, Latency: ptr(20 * time.Millisecond), Capacity: ptr(300.5), ColdFor: ptr(time.Second), ColdTimes: ptr(5.0),
			PauseEvery: ptr(20 * time.Second), PauseFor: ptr(2 * time.Second), KeepAlive: ptr(5 * time.Second), Closing: ptr("announced"),
			Port: ptr("refuse"), OnSIGTERM: ptr("exit"), FailReadiness: ptr(true),
		}, []string{
			"latency=20ms", "capacity=300.5", "cold-for=1s", "cold-times=5", "pause-every=20s", "pause-for=2s", "keep-alive=5s",
			"closing=announced", "app-port=refuse", "stop=exit", "fail-readiness=true",
		}},
		{agentSetKind(), &AgentSet{Pods: PodChoice{Nodes: []int{1}}, Mode: ptr(deploy.AgentDown), Weight: ptr(40)}, []string{"agent=down", "weight=40"}},
		{agentSetKind(), &AgentSet{Pods: PodChoice{Nodes: []int{1}}, Mode: ptr(deploy.AgentOff)}, []string{"agent=off"}},
	} {
		event := w.event(tc.kind, w.env("set", nil), tc.with).(*settings)
		event.pods.run = func(ctx context.Context, pod string, argv ...string) (string, error) {
			if pod != "set-1" {
				t.Errorf("a program runs in %s", pod)
			}
			return program(ctx, config, ports, argv)
		}
		must(t, event.Undo(t.Context()))
		must(t, event.Apply(t.Context()))
		outcome, err := event.Confirm(patiently(t))
		must(t, err)
		lines := strings.Fields(show())
		for _, want := range tc.want {
			if !slices.Contains(lines, want) {
				t.Errorf("%s is not set in %v", want, lines)
			}
		}
		if outcome.Detail != "1 pods" {
			t.Errorf("outcome %+v", outcome)
		}
		must(t, event.Undo(t.Context()))
		if got := show(); got != untouched {
			t.Errorf("%s: after the end the settings are\n%swant\n%s", event.Name(), got, untouched)
		}
	}
}

// testReadiness: readiness is looked at from outside.
func testReadiness(w world) {
	t := w.T
	config, ports := application(t)
	w.live("probed-1", "probed", "w1")
	event := w.event(podReadinessKind(), w.env("probed", nil), &PodReadiness{Ready: true}).(*settings)
	event.pods.run = func(ctx context.Context, _ string, argv ...string) (string, error) {
		return program(ctx, config, ports, argv)
	}
	must(t, event.Apply(t.Context()))
	_, err := event.Confirm(shortly(t)) // no kubelet has probed it
	wantNotProvoked(t, err, "Ready is false still")
	w.gone("probed-1")
	_, err = event.Confirm(patiently(t))
	wantNotProvoked(t, err, "every pod has gone meanwhile")
}

func TestAnswersOfAgents(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("dial tcp 127.0.0.1:8081: connect: connection refused")
	for _, tc := range []struct {
		mode   deploy.AgentMode
		line   string
		failed error
		right  bool
	}{
		{deploy.AgentOff, "", refused, true},
		{deploy.AgentOff, "0%\n", nil, false},
		{deploy.AgentOff, "", fmt.Errorf("timeout"), false},
		{deploy.AgentDown, "down\n", nil, true},
		{deploy.AgentDown, "up ready 100%\n", nil, false},
		{deploy.AgentDown, "", refused, false},
		{deploy.AgentWeightOnly, "100%\n", nil, true},
		{deploy.AgentWeightOnly, "up ready 100%\n", nil, false},
		{deploy.AgentNeverReady, "0%\n", nil, true},
		{deploy.AgentNeverReady, "100%\n", nil, false},
		{deploy.AgentAlwaysReady, "0%\n", nil, false},
		{deploy.AgentNormal, "0%\n", nil, true}, // it may be draining
	} {
		if err := (AgentSet{Mode: &tc.mode}).answers(tc.line, tc.failed); (err == nil) != tc.right {
			t.Errorf("%s answers %q, %v: %v", tc.mode, tc.line, tc.failed, err)
		}
	}
}
