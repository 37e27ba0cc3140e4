package main

import (
	"bytes"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"secondhop/internal/failure"
)

func snippet(args ...string) (string, error) {
	cmd := newSnippetCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage = true
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestSnippetPrintsTheDraw(t *testing.T) {
	t.Parallel()
	byName, err := snippet("my-app", "--namespace", "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"server slot3 my-app-slot-3.shop.svc.cluster.local:80 disabled backup", "agent-port 8081 agent-inter 1s init-addr last,libc,none\n",
		"srv_is_up(slot3)", "option redispatch 1\n",
	} {
		if !strings.Contains(byName, part) {
			t.Errorf("lacks %q:\n%s", part, byName)
		}
	}
	byAddress, err := snippet("my-app", "--addresses", "198.19.0.10,198.19.0.11", "--port", "8080")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(byAddress, "server slot1 198.19.0.11:8080 ") || strings.Contains(byAddress, "slot2") || strings.Contains(byAddress, "init-addr") {
		t.Errorf("by address:\n%s", byAddress)
	}
}

func TestSnippetAnnotationIsTheSameText(t *testing.T) {
	t.Parallel()
	lines, err := snippet("my-app")
	if err != nil {
		t.Fatal(err)
	}
	text, err := snippet("my-app", "--format", "annotation")
	if err != nil {
		t.Fatal(err)
	}
	var service core.Service
	if err := yaml.UnmarshalStrict([]byte(text), &service); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(strings.ReplaceAll(lines, "\n    ", "\n"), "    ")
	if got := service.Annotations[snippetAnnotation]; got != want || service.Name != "my-app" {
		t.Errorf("annotation of %s:\n%s\nwant:\n%s", service.Name, got, want)
	}
}

func TestSnippetRefusesBadInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{}, {"a", "b"}, {"my-app", "--format", "yaml"}, {"my-app", "--slots", "0"}, {"my-app", "--slots", "65"},
		{"my-app", "--addresses", "nowhere"}, {"my-app", "--port", "0"}, {"my-app", "--agent-port", "70000"}, {"my app"},
	} {
		if out, err := snippet(args...); failure.ExitCode(err) != int(failure.Usage) {
			t.Errorf("snippet %q = %v, output %q; want a usage error", args, err, out)
		}
	}
}
