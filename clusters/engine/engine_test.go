package engine

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"secondhop/internal/command"
	"secondhop/internal/failure"
)

func TestExplainGivesTheCure(t *testing.T) {
	t.Parallel()
	said := func(output string) error {
		return &command.Error{Argv: []string{"docker", "ps"}, Output: output, Err: errors.New("exit status 1")}
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
		cure string
	}{
		{"no client", &command.Error{Argv: []string{"docker"}, Err: &exec.Error{Name: "docker", Err: exec.ErrNotFound}}, "not installed", "doctor --fix"},
		{"no engine, old client", said("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"), "does not answer", "start it"},
		{"no engine, new client", said("failed to connect to the docker API at unix:///var/run/docker.sock"), "does not answer", "start it"},
		{"stopped meanwhile", said("error during connect: Post http://x: unexpected EOF"), "does not answer", "start it"},
		{"something else", said("Error: No such container: x"), "No such container: x", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := Explain(tc.err)
			if !strings.Contains(err.Error(), tc.want) || !strings.Contains(failure.Cure(err), tc.cure) {
				t.Errorf("Explain = %v, cure %q; want %q, %q", err, failure.Cure(err), tc.want, tc.cure)
			}
			if failure.ExitCode(err) != 2 {
				t.Errorf("exit code %d, want 2", failure.ExitCode(err))
			}
		})
	}
	if Explain(nil) != nil {
		t.Error("success became an error")
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]bool{
		"Error: No such container: x":                             true,
		"Error response from daemon: network x not found":         true,
		"Error response from daemon: conflict: container running": false,
	} {
		if got := Absent(&command.Error{Output: output}); got != want {
			t.Errorf("Absent(%q) = %v, want %v", output, got, want)
		}
	}
	if Absent(nil) || Absent(errors.New("no such thing")) {
		t.Error("what docker has not said passes for its word")
	}
}

const inspected = `{"Id":"abc","Name":"/lab-worker","Config":{"Labels":{"a":"b"}},
"State":{"Status":"running","Running":true,"Pid":42,"ExitCode":0},
"Mounts":[{"Type":"bind","Name":""},{"Type":"volume","Name":"v1"}],
"NetworkSettings":{"Networks":{"lab":{"IPAddress":"198.18.0.3"},"left":{"IPAddress":""}},
"Ports":{"6443/tcp":[{"HostIp":"127.0.0.1","HostPort":"4000"}],"80/tcp":null}}}`

func TestContainerFromInspect(t *testing.T) {
	t.Parallel()
	var raw containerJSON
	if err := json.Unmarshal([]byte(inspected), &raw); err != nil {
		t.Fatal(err)
	}
	got := raw.container()
	if got.Name != "lab-worker" || got.Pid != 42 || !got.Running || got.Ports["6443/tcp"] != "127.0.0.1:4000" || len(got.Ports) != 1 {
		t.Errorf("container = %+v", got)
	}
	if got.Addresses["lab"] != netip.MustParseAddr("198.18.0.3") || len(got.Addresses) != 1 || !slices.Equal(got.Volumes, []string{"v1"}) {
		t.Errorf("container = %+v", got)
	}
	stopped := Container{Name: "b", Networks: []string{"left"}}
	if members := On("left", []Container{got, stopped, {Name: "c"}}); len(members) != 2 {
		t.Errorf("On = %v, want the running and the stopped one", members)
	}
}

func FuzzContainerFromInspect(f *testing.F) {
	f.Add([]byte(inspected))
	f.Fuzz(func(t *testing.T, text []byte) {
		var raw containerJSON
		if json.Unmarshal(text, &raw) == nil {
			raw.container()
		}
	})
}
