package runner

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"secondhop/clusters"
	"secondhop/internal/cleanup"
	"secondhop/internal/trial"
	"secondhop/internal/units"
)

// sinkPort is where background traffic is swallowed on every node.
const sinkPort = 9200

// firstFlooder is the address of the first container that sends background traffic.
func firstFlooder() netip.Addr { return clusters.ClientAddress().Next() }

// startBackground sends each node the background traffic of the load, until the
// run is over. Nodes of one rate share a sender.
func (l *Lab) startBackground(ctx context.Context, load trial.Load, undo *cleanup.Stack) error {
	if len(load.Background) == 0 {
		return nil
	}
	if err := l.Parts.InstallSink(ctx, sinkPort); err != nil {
		return err
	}
	undo.Push("sinks", l.Parts.RemoveSink)
	targets := map[units.BitRate][]string{}
	for _, node := range l.Cluster.Workers() {
		rate := load.Background[node.Name]
		if rate == 0 {
			continue
		}
		to := netip.AddrPortFrom(node.Address, sinkPort).String()
		targets[rate] = append(targets[rate], "--to", to)
	}
	address, sender := firstFlooder(), 0
	for rate, to := range targets {
		args := append([]string{"flood", "--rate", strconv.FormatUint(uint64(rate), 10) + "bit", "--duration", longest.String()}, to...)
		client, err := l.Cluster.StartClient(ctx, "background"+strconv.Itoa(sender), clusters.ClientOptions{
			Image: l.loadgen, Args: args, Address: address,
		})
		if err != nil {
			return fmt.Errorf("start background traffic: %w", err)
		}
		undo.Push("background traffic", client.Remove)
		address, sender = address.Next(), sender+1
	}
	// A second of traffic before anything is counted, so that TCP is up to speed.
	return pass(ctx, time.Second)
}
