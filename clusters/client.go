package clusters

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"secondhop/clusters/engine"
	"secondhop/internal/failure"
)

// ResultMount is where a client finds the directory for its results.
const ResultMount = "/results"

// ClientAddress is the client's fixed address on the lab's network: outside the
// part that Docker gives to nodes.
func ClientAddress() netip.Addr { return netip.MustParseAddr("198.18.0.250") }

// ClientOptions describe the container that sends the load.
type ClientOptions struct {
	// Image is a reference in the local engine. When the engine does not have it and
	// Archive is set, it is loaded from that file.
	Image   string
	Archive string
	// Args are the arguments of the image's entry point.
	Args []string
	// ResultDir is a directory of the host that the client sees as ResultMount.
	ResultDir string
	// Address is on the lab's network; unset means ClientAddress.
	Address netip.Addr
	// CPUShares weigh the client against the nodes, which have 1024 each; 0 means
	// 4096, so that a busy lab does not make the load late.
	CPUShares int
}

// Client is a container on the lab's network that is not a node of the cluster.
type Client struct {
	// Name is that of the container.
	Name    string
	Address netip.Addr
}

// StartClient starts a client. It has no capabilities, and the lab's guard applies
// to it as to the nodes. Whoever starts it removes it; Down does as well.
func (c *Cluster) StartClient(ctx context.Context, name string, opts ClientOptions) (*Client, error) {
	client := &Client{Name: c.Spec.Name + "-" + name, Address: opts.Address}
	if !client.Address.IsValid() {
		client.Address = ClientAddress()
	}
	if err := loadIntoEngine(ctx, opts.Image, opts.Archive); err != nil {
		return nil, fmt.Errorf("start client %s: %w", name, err)
	}
	// One that an earlier run left is in the way and of no use.
	if err := client.Remove(ctx); err != nil {
		return nil, fmt.Errorf("start client %s: %w", name, err)
	}
	if _, err := engine.Run(ctx, c.clientArgs(client, opts)...); err != nil {
		// docker run may have made the container before it failed.
		removal := client.Remove(context.WithoutCancel(ctx))
		return nil, joinf("start client "+name, err, removal)
	}
	return client, nil
}

func (c *Cluster) clientArgs(client *Client, opts ClientOptions) []string {
	shares := opts.CPUShares
	if shares == 0 {
		shares = 4096
	}
	args := []string{"run", "--detach", "--name", client.Name,
		"--label", engine.LabLabel + "=" + c.Spec.Name,
		"--network", c.Spec.Name, "--ip", client.Address.String(),
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--cpu-shares", strconv.Itoa(shares),
		"--sysctl", "net.ipv4.tcp_congestion_control=cubic",
		// Room for a connection per request: ports 10000 to 65535.
		"--sysctl", "net.ipv4.ip_local_port_range=10000 65535",
		"--pull", "never",
	}
	if opts.ResultDir != "" {
		args = append(args, "--volume", opts.ResultDir+":"+ResultMount)
	}
	return append(append(args, opts.Image), opts.Args...)
}

// loadIntoEngine gives the engine an image that it may not have.
func loadIntoEngine(ctx context.Context, image, archive string) error {
	_, err := engine.Run(ctx, "image", "inspect", "--format", "{{.Id}}", image)
	if err == nil || !engine.Absent(err) {
		return err
	}
	if archive == "" {
		return failure.Infra(fmt.Errorf("the engine has no image %s", image), "secondhop image ls shows what there is")
	}
	if _, err := engine.Run(ctx, "load", "--input", archive); err != nil {
		return fmt.Errorf("load %s: %w", archive, err)
	}
	return nil
}

// Exec runs a program in the client and returns its standard output.
func (c *Client) Exec(ctx context.Context, argv ...string) (string, error) {
	out, err := execIn(ctx, c.Name, nil, argv...)
	if err != nil {
		return out, fmt.Errorf("in %s: %w", c.Name, err)
	}
	return out, nil
}

// Wait waits until the client's program has ended and returns its exit code. It
// returns early when ctx ends; the program goes on.
func (c *Client) Wait(ctx context.Context) (exitCode int, err error) {
	out, err := engine.Run(ctx, "wait", c.Name)
	if err != nil {
		return 0, fmt.Errorf("wait for %s: %w", c.Name, err)
	}
	exitCode, err = strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("wait for %s: %w", c.Name, err)
	}
	return exitCode, nil
}

// Output is what the client's program has written to its standard output.
func (c *Client) Output(ctx context.Context) (string, error) {
	out, err := engine.Run(ctx, "logs", c.Name)
	if err != nil {
		return "", fmt.Errorf("read the output of %s: %w", c.Name, err)
	}
	return out, nil
}

// stopLimit is what the client's program gets to end after SIGTERM.
const stopLimit = 30 * time.Second

// Stop asks the client's program to end and waits until it has; its output and exit
// code stay readable. One that has ended already is fine.
func (c *Client) Stop(ctx context.Context) error {
	if _, err := engine.Run(ctx, "stop", "--time", strconv.Itoa(int(stopLimit.Seconds())), c.Name); err != nil {
		return fmt.Errorf("stop %s: %w", c.Name, err)
	}
	return nil
}

// Remove ends and deletes the client; none being there is no failure.
func (c *Client) Remove(ctx context.Context) error { return engine.Remove(ctx, c.Name) }
