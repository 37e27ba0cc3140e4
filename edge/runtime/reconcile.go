package runtime

import (
	"context"
	"fmt"
	"strings"

	"secondhop/edge/haproxy"
	"secondhop/edge/render"
)

const (
	// batch bounds a line of commands: HAProxy reads it into one buffer of 16 kB.
	batch = 100
	// attempts is how often differences are worked on before giving up. The first
	// one does it; another is for a change that HAProxy refused for a moment.
	attempts = 3
)

// Reconcile makes the running servers what backends want and returns how many
// commands that took: 0 says that HAProxy was in sync. It believes what it reads
// back, not the answers to its commands.
func (c Client) Reconcile(ctx context.Context, backends []render.Backend) (int, error) {
	sent, answers := 0, ""
	for range attempts {
		actual, _, err := c.State(ctx)
		if err != nil {
			return sent, err
		}
		commands, err := Diff(backends, actual)
		if err != nil {
			return sent, err
		}
		if len(commands) == 0 {
			return sent, nil
		}
		if answers, err = c.send(ctx, commands); err != nil {
			return sent, err
		}
		sent += len(commands)
	}
	return sent, fmt.Errorf("haproxy does not take changes of servers; it answers: %s", strings.Join(strings.Fields(answers), " "))
}

// Apply sends the difference between two wishes without looking at what runs. It
// is the naive way, kept to show what is wrong with it.
func (c Client) Apply(ctx context.Context, before, after []render.Backend) error {
	commands, err := Diff(after, assume(before))
	if err != nil {
		return err
	}
	_, err = c.send(ctx, commands)
	return err
}

func (c Client) send(ctx context.Context, commands []string) (string, error) {
	var answers strings.Builder
	for len(commands) > 0 {
		n := min(batch, len(commands))
		answer, err := c.Do(ctx, strings.Join(commands[:n], "; "))
		if err != nil {
			return answers.String(), err
		}
		answers.WriteString(answer)
		commands = commands[n:]
	}
	return answers.String(), nil
}

// assume is the state that HAProxy would have if it were just as wished.
func assume(backends []render.Backend) []haproxy.ServerState {
	var states []haproxy.ServerState
	for _, b := range backends {
		for _, s := range b.Servers {
			closed := !s.Enabled
			states = append(states, haproxy.ServerState{
				Backend: b.Name, Server: s.Name, Address: s.Address, Maintenance: closed, ForcedMaintenance: closed,
			})
		}
	}
	return states
}
