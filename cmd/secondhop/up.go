package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"secondhop/clusters"
	"secondhop/internal/failure"
	"secondhop/internal/runner"
	"secondhop/internal/units"
)

// newUpCommand makes a lab and puts into it what belongs on every lab.
func newUpCommand() *cobra.Command {
	spec := clusters.DefaultSpec()
	var recreate bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make the lab: a Kubernetes cluster with shaped links on a network of its own",
		Long: "Make the lab, or shape the links anew of one that is up and matches.\n" +
			"A lab that is up and differs is left alone unless --recreate is given.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			lock, err := clusters.Acquire(spec.Name, commandLine(cmd))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, lock.Release()) }()
			progress := cmd.ErrOrStderr()
			cluster, err := clusters.Ensure(cmd.Context(), spec, clusters.Options{
				Progress: progress, Lock: lock, Recreate: recreate,
				Furnish: func(ctx context.Context, cluster *clusters.Cluster) error {
					return runner.Furnish(ctx, cluster, progress)
				},
			})
			if err != nil {
				return err
			}
			if _, _, err := runner.Equip(cmd.Context(), cluster, progress); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "lab %s is up: export KUBECONFIG=%s\n", spec.Name, cluster.Kubeconfig)
			return nil
		},
	}
	addSpecFlags(cmd.Flags(), &spec)
	cmd.Flags().BoolVar(&recreate, "recreate", false, "replace a lab that is up and differs or does not work")
	return cmd
}

// addSpecFlags adds the flags that describe a lab.
func addSpecFlags(flags *pflag.FlagSet, spec *clusters.Spec) {
	flags.StringVar(&spec.Name, "name", spec.Name, "name of the lab and of its network")
	flags.StringVar(&spec.Kubernetes, "kubernetes", spec.Kubernetes, "Kubernetes version of the nodes")
	flags.IntVar(&spec.Workers, "workers", spec.Workers, "nodes that carry ingresses and pods")
	flags.IntVar(&spec.Zones, "zones", spec.Zones, "zones that the workers are spread over")
	flags.Var(proxyModeFlag{&spec.ProxyMode}, "proxy-mode", "kube-proxy's mode: iptables or nftables")
	flags.Var(rateFlag{&spec.Link}, "link", "rate of each worker's link, both directions, such as 250mbit")
}

// rateFlag reads a rate in tc's notation.
type rateFlag struct{ rate *units.BitRate }

func (f rateFlag) String() string {
	if f.rate == nil {
		return ""
	}
	return f.rate.String()
}
func (f rateFlag) Type() string { return "rate" }
func (f rateFlag) Set(text string) (err error) {
	*f.rate, err = units.ParseBitRate(text)
	return err
}

// proxyModeFlag takes the known modes only.
type proxyModeFlag struct{ mode *clusters.ProxyMode }

func (f proxyModeFlag) String() string {
	if f.mode == nil {
		return ""
	}
	return string(*f.mode)
}
func (f proxyModeFlag) Type() string { return "mode" }
func (f proxyModeFlag) Set(text string) error {
	switch mode := clusters.ProxyMode(text); mode {
	case clusters.IPTables, clusters.NFTables:
		*f.mode = mode
		return nil
	}
	return errors.New("use iptables or nftables")
}

// noArguments refuses words that are not flags, as usage errors.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failure.Inputf("%s takes no arguments, and got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// commandLine is the command as others see it who wait for it.
func commandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(flag *pflag.Flag) { words = append(words, "--"+flag.Name+"="+flag.Value.String()) })
	return strings.Join(words, " ")
}
