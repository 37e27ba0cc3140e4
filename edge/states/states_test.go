package states

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"secondhop/edge/haproxy"
)

func stat(server, status string, weight int, answers uint64) haproxy.ServerStat {
	return haproxy.ServerStat{Proxy: "app", Server: server, Status: status, Weight: weight, Requests: answers}
}

func TestFollowWritesWhatChanges(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	looks := [][]haproxy.ServerStat{
		{stat("slot0", "UP", 100, 1), stat("slot1", "MAINT", 100, 0)},
		{stat("slot0", "UP", 100, 99), stat("slot1", "MAINT", 100, 0)}, // only counters
		nil, // HAProxy reloads
		{stat("slot0", "UP", 0, 100), stat("slot1", "MAINT", 100, 0), stat("slot2", "UP", 100, 0)},
	}
	read := func(context.Context) ([]haproxy.ServerStat, error) {
		if len(looks) == 1 {
			cancel()
		}
		look := looks[0]
		looks = looks[1:]
		if look == nil {
			return nil, errors.New("connection refused")
		}
		return look, nil
	}
	var out bytes.Buffer
	if err := Follow(ctx, time.Millisecond, read, &out); err != nil {
		t.Fatal(err)
	}
	var got [][]Server
	lines := json.NewDecoder(&out)
	for lines.More() {
		var sample Sample
		if err := lines.Decode(&sample); err != nil {
			t.Fatal(err)
		}
		if sample.At.IsZero() {
			t.Error("a sample without a time")
		}
		got = append(got, sample.Changed)
	}
	want := [][]Server{
		{{"app", "slot0", "UP", 100}, {"app", "slot1", "MAINT", 100}},
		nil,
		{{"app", "slot0", "UP", 0}, {"app", "slot2", "UP", 100}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestFollowEndsWithItsReader(t *testing.T) {
	t.Parallel()
	read := func(context.Context) ([]haproxy.ServerStat, error) { return nil, nil }
	if err := Follow(t.Context(), time.Millisecond, read, broken{}); err == nil {
		t.Error("it went on writing to a broken pipe")
	}
}
