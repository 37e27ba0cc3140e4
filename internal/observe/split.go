package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/template"

	"golang.org/x/sync/errgroup"

	"secondhop/internal/units"
)

// splitTable is our own table in each node's network namespace; kube-proxy and
// everybody else's tables are not touched.
const splitTable = "secondhop"

// Class is what was counted of one class of packets. Bytes are those of IP
// packets, without the Ethernet header.
type Class struct {
	Packets uint64      `json:"packets"`
	Bytes   units.Bytes `json:"bytes"`
}

// Split is what came into a node through its card, by what it belongs to.
//
// nftables sees a burst of TCP segments that the kernel carries as one (GSO) as
// one packet with one header, where a wire, and the queueing discipline that
// stands for it, sees the header of every segment and 14 bytes of Ethernet. So
// Whole is a few percent less than the bytes of the link; see SegmentGap.
type Split struct {
	HopOneRequests Class `json:"hop_one_requests"` // clients to this node's ingress, with their acknowledgements of answers
	HopTwoRequests Class `json:"hop_two_requests"` // other nodes' ingresses to pods here
	HopTwoAnswers  Class `json:"hop_two_answers"`  // pods elsewhere to this node's ingress
	Background     Class `json:"background"`       // to the sink
	Rest           Class `json:"rest"`             // the cluster's own traffic
	Whole          Class `json:"whole"`
}

// classes pairs each class with the counter's name in the table.
func (s *Split) classes() map[string]*Class {
	return map[string]*Class{
		"whole": &s.Whole, "hop_one_requests": &s.HopOneRequests, "hop_two_requests": &s.HopTwoRequests,
		"hop_two_answers": &s.HopTwoAnswers, "background": &s.Background, "rest": &s.Rest,
	}
}

// Sub is what was counted between an earlier reading and s.
func (s Split) Sub(earlier Split) Split {
	before := earlier.classes()
	for name, class := range s.classes() {
		class.Packets -= before[name].Packets
		class.Bytes -= before[name].Bytes
	}
	return s
}

// Unaccounted is the share of the whole that is in no class, or in two: 0 when
// the parts add up. Without any traffic it is 0.
func (s Split) Unaccounted() float64 {
	if s.Whole.Bytes == 0 {
		return 0
	}
	parts := s.HopOneRequests.Bytes + s.HopTwoRequests.Bytes + s.HopTwoAnswers.Bytes + s.Background.Bytes + s.Rest.Bytes
	return float64(s.Whole.Bytes-parts) / float64(s.Whole.Bytes)
}

// HopTwo is the bytes of both directions of hop two.
func (s Split) HopTwo() units.Bytes { return s.HopTwoRequests.Bytes + s.HopTwoAnswers.Bytes }

// SegmentGap is by which share nftables saw less than the link's queueing
// discipline, which counts frame bytes of every segment: 1 - split/link.
// Expect 0.03 to 0.05 for long answers without congestion.
func (s Split) SegmentGap(link units.Bytes) float64 {
	if link == 0 {
		return 0
	}
	return 1 - float64(s.Whole.Bytes)/float64(link)
}

// SplitSpec says how the packets of a lab are told apart.
type SplitSpec struct {
	PodNetwork   netip.Prefix // of the whole cluster
	IngressPorts []int
	AppPort      int // of pods
	SinkPort     int // of background traffic; 0 for none
}

// Splitter counts inbound packets of nodes by class.
type Splitter struct {
	exec  Nodes
	nodes map[string]netip.Addr
	spec  SplitSpec
}

// Nodes runs a program in a node of the lab and returns its standard output.
type Nodes interface {
	Exec(ctx context.Context, node string, stdin io.Reader, argv ...string) (string, error)
}

// NewSplitter makes a Splitter for nodes, given by name with the address that
// their ingress answers on.
func NewSplitter(exec Nodes, nodes map[string]netip.Addr, spec SplitSpec) *Splitter {
	return &Splitter{exec, nodes, spec}
}

// Install puts the counters, at zero, into every node; those of an earlier run
// are replaced.
func (s *Splitter) Install(ctx context.Context) error {
	return s.each(ctx, "install counters", func(ctx context.Context, node string) error {
		rules, err := s.spec.rules(s.nodes[node])
		if err != nil {
			return err
		}
		return s.load(ctx, node, rules)
	})
}

// Remove takes the counters out of every node; where there are none that is fine.
func (s *Splitter) Remove(ctx context.Context) error {
	return s.each(ctx, "remove counters", func(ctx context.Context, node string) error {
		return s.load(ctx, node, removal)
	})
}

func (s *Splitter) load(ctx context.Context, node, rules string) error {
	_, err := s.exec.Exec(ctx, node, strings.NewReader(rules), "nft", "-f", "-")
	return err
}

// Read reads the counters of every node.
func (s *Splitter) Read(ctx context.Context) (map[string]Split, error) {
	texts, err := gather(ctx, keys(s.nodes), func(ctx context.Context, node string) (Split, error) {
		text, err := s.exec.Exec(ctx, node, nil, "nft", "-j", "list", "counters", "table", "inet", splitTable)
		if err != nil {
			return Split{}, fmt.Errorf("read counters of %s: %w", node, err)
		}
		split, err := parseCounters([]byte(text))
		if err != nil {
			return Split{}, fmt.Errorf("read counters of %s: %w", node, err)
		}
		return split, nil
	})
	return texts, err
}

func (s *Splitter) each(ctx context.Context, what string, do func(context.Context, string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for node := range s.nodes {
		group.Go(func() error {
			if err := do(ctx, node); err != nil {
				return fmt.Errorf("%s in %s: %w", what, node, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// removal first makes the table, since deleting one that does not exist is an
// error in the nft of some node images.
const removal = "table inet " + splitTable + " {}\ndelete table inet " + splitTable + "\n"

// rulesTemplate counts at prerouting before conntrack and address translation
// (priority raw is -300), where addresses are those on the wire. There is no
// translation between pods and nodes of the lab, so pods show their own address.
const rulesTemplate = removal + `table inet {{.Table}} {
	counter whole {}
	counter hop_one_requests {}
	counter hop_two_requests {}
	counter hop_two_answers {}
	counter background {}
	counter rest {}
	chain inbound {
		type filter hook prerouting priority -310; policy accept;
		iifname != "eth0" return
		counter name whole
		ip daddr {{.Node}} tcp dport { {{.Ingress}} } counter name hop_one_requests return
		ip daddr {{.Pods}} tcp dport {{.App}} counter name hop_two_requests return
		ip saddr {{.Pods}} tcp sport {{.App}} counter name hop_two_answers return
{{- if .Sink}}
		ip daddr {{.Node}} tcp dport {{.Sink}} counter name background return
{{- end}}
		counter name rest
	}
}
`

// rules renders the table for the node with the given address.
func (s SplitSpec) rules(node netip.Addr) (string, error) {
	parsed, err := template.New("rules").Parse(rulesTemplate)
	if err != nil {
		return "", err
	}
	ports := make([]string, len(s.IngressPorts))
	for i, port := range s.IngressPorts {
		ports[i] = fmt.Sprint(port)
	}
	var text strings.Builder
	err = parsed.Execute(&text, map[string]any{
		"Table": splitTable, "Node": node, "Pods": s.PodNetwork, "Ingress": strings.Join(ports, ", "),
		"App": s.AppPort, "Sink": s.SinkPort,
	})
	return text.String(), err
}

// parseCounters reads what `nft -j list counters` prints of our table.
func parseCounters(text []byte) (Split, error) {
	var listing struct {
		NFTables []struct {
			Counter *struct {
				Name    string
				Packets uint64
				Bytes   uint64
			}
		}
	}
	if err := json.Unmarshal(text, &listing); err != nil {
		return Split{}, fmt.Errorf("nft's listing: %w", err)
	}
	var split Split
	missing := split.classes()
	for _, item := range listing.NFTables {
		if c := item.Counter; c != nil && missing[c.Name] != nil {
			*missing[c.Name] = Class{c.Packets, units.Bytes(c.Bytes)}
			delete(missing, c.Name)
		}
	}
	if len(missing) > 0 {
		return Split{}, errors.New("nft's listing lacks counters: " + strings.Join(keys(missing), ", "))
	}
	return split, nil
}
