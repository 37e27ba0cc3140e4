package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"secondhop/clusters"
	"secondhop/clusters/links"
)

// newStatusCommand shows a lab.
func newStatusCommand() *cobra.Command {
	name := clusters.DefaultSpec().Name
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the lab: nodes, links, age, who uses it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := clusters.Look(cmd.Context(), name)
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), status, time.Now())
		},
	}
	cmd.Flags().StringVar(&name, "name", name, "name of the lab")
	return cmd
}

func printStatus(out io.Writer, status clusters.Status, now time.Time) error {
	if status.Holder != nil {
		fmt.Fprintf(out, "in use by   %s\n", status.Holder)
	}
	cluster := status.Cluster
	if cluster == nil {
		fmt.Fprintf(out, "lab %s     %s\n", status.Name, status.Problem)
		return nil
	}
	fmt.Fprintf(out, "lab         %s, up for %s\n", cluster.Spec.Name, now.Sub(cluster.Created).Round(time.Second))
	fmt.Fprintf(out, "Kubernetes  %s, kube-proxy %s, image %s (%s)\n", cluster.Spec.Kubernetes, cluster.Spec.ProxyMode, cluster.NodeImage.Ref, cluster.NodeImage.Source)
	fmt.Fprintf(out, "kubeconfig  %s\n", cluster.Kubeconfig)
	fmt.Fprintf(out, "guard       %s\n\n", status.Guard)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tSTATE\tZONE\tADDRESS\tPODS\tLINK IN\tLINK OUT")
	for _, node := range status.Nodes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", node.Name, node.State, orDash(node.Zone), node.Address, node.PodCIDR,
			linkText(node.Rates.In, node.Counters.In), linkText(node.Rates.Out, node.Counters.Out))
	}
	return table.Flush()
}

func linkText(rate fmt.Stringer, counter links.Counter) string {
	if rate.String() == "0bit" {
		return "-"
	}
	return fmt.Sprintf("%s, %s, %d drops", rate, counter.Bytes, counter.Drops)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
