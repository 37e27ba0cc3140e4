package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"secondhop/edge/render"
	"secondhop/internal/failure"
)

// snippetOptions is what the draw of an app needs to know.
type snippetOptions struct {
	app, namespace string
	slots          int
	addresses      []string
	port, agent    int
	format         string
}

const (
	formatHAProxy    = "haproxy"
	formatAnnotation = "annotation"
	// snippetAnnotation is where the HAProxy Technologies controller reads lines
	// for a Service's backend.
	snippetAnnotation = "haproxy.org/backend-config-snippet"
	mostSlots         = 64
)

func newSnippetCommand() *cobra.Command {
	o := snippetOptions{}
	cmd := &cobra.Command{
		Use:   "snippet APP",
		Short: "Print the draw of local slots for another HAProxy or the official controller",
		Long: "Print the lines that give a backend of any HAProxy (2.6 or later) the same draw as edge's,\n" +
			"to be put before the regular servers of the backend, or as an annotation of the Service APP\n" +
			"for the official HAProxy controller.",
		Example: "  secondhop snippet my-app --namespace shop --format annotation | kubectl apply --server-side -f -\n" +
			"  secondhop snippet my-app --addresses 198.19.0.10,198.19.0.11,198.19.0.12,198.19.0.13",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failure.Input(fmt.Errorf("want the name of one app, got %d", len(args)), "secondhop snippet my-app")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.app = args[0]
			return printSnippet(cmd.OutOrStdout(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.namespace, "namespace", "default", "namespace of the app")
	f.IntVar(&o.slots, "slots", 4, "number of slot Services")
	f.StringSliceVar(&o.addresses, "addresses", nil, "ClusterIPs of the slot Services in order, instead of their names: HAProxy then needs no DNS")
	f.IntVar(&o.port, "port", 80, "port of the slot Services for requests")
	f.IntVar(&o.agent, "agent-port", 8081, "port of the slot Services for the agent")
	f.StringVar(&o.format, "format", formatHAProxy, "haproxy (lines of a backend) or annotation (the Service's)")
	return cmd
}

func printSnippet(out io.Writer, o snippetOptions) error {
	slots, err := o.servers()
	if err != nil {
		return err
	}
	// A name that does not resolve would keep HAProxy from starting.
	options := "init-addr last,libc,none"
	if len(o.addresses) > 0 {
		options = ""
	}
	var text bytes.Buffer
	if err := render.Draw(&text, slots, options); err != nil {
		return failure.Input(err, "")
	}
	if o.format == formatHAProxy {
		_, err := text.WriteTo(out)
		return err
	}
	fmt.Fprintf(out, "apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: %s\n  annotations:\n    %s: |\n", o.app, o.namespace, snippetAnnotation)
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintf(out, "      %s", strings.TrimPrefix(line, "    ")); err != nil {
			return err
		}
	}
	return nil
}

func (o snippetOptions) servers() ([]render.Slot, error) {
	if o.format != formatHAProxy && o.format != formatAnnotation {
		return nil, failure.Input(fmt.Errorf("unknown format %q", o.format), "--format "+formatHAProxy+" or --format "+formatAnnotation)
	}
	if err := validPorts(o.port, o.agent); err != nil {
		return nil, err
	}
	count := o.slots
	if len(o.addresses) > 0 {
		count = len(o.addresses)
	}
	if count < 1 || count > mostSlots {
		return nil, failure.Input(fmt.Errorf("%d slots, want 1 to %d", count, mostSlots), "")
	}
	slots := make([]render.Slot, count)
	for n := range slots {
		host := fmt.Sprintf("%s-slot-%d.%s.svc.cluster.local", o.app, n, o.namespace)
		if len(o.addresses) > 0 {
			host = o.addresses[n]
			if net.ParseIP(host) == nil {
				return nil, failure.Input(fmt.Errorf("%q is not an IP address", host), "kubectl get service -n "+o.namespace+" shows the ClusterIPs")
			}
		}
		slots[n] = render.Slot{Number: n, Address: net.JoinHostPort(host, strconv.Itoa(o.port)), AgentPort: uint16(o.agent)}
	}
	return slots, nil
}

func validPorts(ports ...int) error {
	var failures []error
	for _, port := range ports {
		if port < 1 || port > 65535 {
			failures = append(failures, fmt.Errorf("port %d is not between 1 and 65535", port))
		}
	}
	return failure.Input(errors.Join(failures...), "")
}
