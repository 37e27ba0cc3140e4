package network

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"secondhop/internal/command"
	"secondhop/internal/failure"
)

// chain is where Docker leaves room for rules of others; it is passed before
// Docker's own, and Docker never empties it.
const chain = "DOCKER-USER"

// Guard is the rule that keeps what is on a bridge there.
type Guard struct{ bridge string }

// Guard of the network. It works on the device's name, so it may be in force
// before the device exists and stay until after it has gone.
func (n Network) Guard() Guard { return Guard{n.Bridge} }

// rule matches what is forwarded from the bridge to anywhere else. REJECT, and not
// DROP, so that what tries is told at once.
func (g Guard) rule() []string {
	return []string{"-i", g.bridge, "!", "-o", g.bridge, "-j", "REJECT"}
}

// Install puts the rule at the head of Docker's chain; it is in force once only,
// however often it is installed.
func (g Guard) Install(ctx context.Context) error {
	tool, err := dockersTool(ctx)
	if err != nil {
		return fmt.Errorf("guard %s: %w", g.bridge, err)
	}
	if present, err := g.present(ctx, tool); err != nil || present {
		return err
	}
	if _, err := iptables(ctx, tool, append([]string{"-I", chain}, g.rule()...)...); err != nil {
		return fmt.Errorf("guard %s: %w", g.bridge, err)
	}
	return nil
}

// Remove takes the rule away from every firewall in which it is found.
func (g Guard) Remove(ctx context.Context) error {
	var failures []error
	for _, tool := range tools() {
		for {
			present, err := g.present(ctx, tool)
			if err != nil || !present {
				break // no such tool or no such chain: nothing to undo there
			}
			if _, err := iptables(ctx, tool, append([]string{"-D", chain}, g.rule()...)...); err != nil {
				failures = append(failures, fmt.Errorf("remove the guard of %s: %w", g.bridge, err))
				break
			}
		}
	}
	return errors.Join(failures...)
}

// Refused is the number of packets that the rule has rejected so far. An error
// says that the rule is not in force.
func (g Guard) Refused(ctx context.Context) (uint64, error) {
	tool, err := dockersTool(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the guard of %s: %w", g.bridge, err)
	}
	out, err := iptables(ctx, tool, "-L", chain, "-v", "-x", "-n")
	if err != nil {
		return 0, fmt.Errorf("read the guard of %s: %w", g.bridge, err)
	}
	packets, found := parseRefused(out, g.bridge)
	if !found {
		return 0, failure.Infra(fmt.Errorf("the rule that keeps traffic on %s is not in force", g.bridge), "secondhop up puts it back")
	}
	return packets, nil
}

// parseRefused finds the rule in the output of iptables -L -v -x -n, whose
// columns are pkts bytes target prot opt in out source destination.
func parseRefused(listing, bridge string) (packets uint64, found bool) {
	for line := range strings.Lines(listing) {
		f := strings.Fields(line)
		if len(f) < 9 || f[2] != "REJECT" || f[5] != bridge || f[6] != "!"+bridge {
			continue
		}
		packets, err := strconv.ParseUint(f[0], 10, 64)
		return packets, err == nil
	}
	return 0, false
}

func (g Guard) present(ctx context.Context, tool string) (bool, error) {
	_, err := iptables(ctx, tool, append([]string{"-C", chain}, g.rule()...)...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return false, nil
	}
	return false, err
}

// tools are the two firewalls that a machine may have under the name of iptables;
// the first is the one that Docker, too, finds by that name.
func tools() []string { return []string{"iptables", "iptables-nft", "iptables-legacy"} }

// dockersTool is the iptables that holds Docker's rules: the first whose FORWARD
// chain leads into Docker's.
func dockersTool(ctx context.Context) (string, error) {
	var last error
	for _, tool := range tools() {
		out, err := iptables(ctx, tool, "-S", "FORWARD")
		if err != nil {
			last = err
			continue
		}
		if strings.Contains(out, "-j "+chain) {
			return tool, nil
		}
	}
	if last == nil {
		last = fmt.Errorf("no FORWARD chain leads to %s", chain)
	}
	return "", failure.Infra(fmt.Errorf("find Docker's firewall rules: %w", last),
		"run as root, with the iptables package installed and a Docker engine that manages iptables (its default)")
}

// iptables waits up to ten seconds for another program's lock on the tables.
func iptables(ctx context.Context, tool string, args ...string) (string, error) {
	return command.Run(ctx, append([]string{tool, "-w", "10"}, args...)...)
}
