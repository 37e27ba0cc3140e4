package links

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"secondhop/clusters/netns"
	"secondhop/internal/units"
)

// transfer is what the receiver of a bulk transfer saw during the window.
type transfer struct {
	bytes      units.Bytes
	window     time.Duration
	wire       Counter
	congestion string
	idle       float64
}

// chunk is what sender and receiver hand to the kernel at a time.
const chunk = 256 << 10

// send runs one TCP stream from one namespace to another for the plan's time, and
// reads wire at both ends of the window.
func send(ctx context.Context, from, to Endpoint, plan Plan, wire func() (Counter, error)) (transfer, error) {
	sender, receiver, err := connect(ctx, from, to)
	if err != nil {
		return transfer{}, err
	}
	deadline := time.Now().Add(plan.WarmUp + plan.Window + 5*time.Second)
	for _, conn := range []net.Conn{sender, receiver} {
		defer conn.Close()
		if err := conn.SetDeadline(deadline); err != nil {
			return transfer{}, err
		}
	}
	stop := context.AfterFunc(ctx, func() { sender.Close(); receiver.Close() })
	defer stop()

	result := transfer{}
	if result.congestion, err = congestion(sender); err != nil {
		return result, err
	}
	var group errgroup.Group
	group.Go(func() error { return pump(sender) })
	group.Go(func() error {
		// Closing the receiver is what ends the sender.
		defer receiver.Close()
		return result.measure(receiver, plan, wire)
	})
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return result, fmt.Errorf("send from %s to %s: %w", from.Name, to.Name, err)
	}
	return result, nil
}

// pump writes until the other side goes away.
func pump(conn net.Conn) error {
	data := make([]byte, chunk)
	for {
		if _, err := conn.Write(data); err != nil {
			if errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
				return nil
			}
			return err
		}
	}
}

// sample is what was counted up to an instant.
type sample struct {
	at       time.Time
	received units.Bytes
	wire     Counter
	cpu      processorTimes
}

// measure reads the stream for the plan's time. What counts is what TCP has received
// in order, by the kernel's own count: a reader that the scheduler lets wait does
// not change it.
func (t *transfer) measure(conn net.Conn, plan Plan, wire func() (Counter, error)) error {
	buffer := make([]byte, chunk)
	if err := drain(conn, buffer, time.Now().Add(plan.WarmUp)); err != nil {
		return err
	}
	start, err := take(conn, wire)
	if err != nil {
		return err
	}
	if err := drain(conn, buffer, start.at.Add(plan.Window)); err != nil {
		return err
	}
	end, err := take(conn, wire)
	if err != nil {
		return err
	}
	t.window = end.at.Sub(start.at)
	t.bytes = end.received - start.received
	t.wire = end.wire.Sub(start.wire)
	t.idle = end.cpu.idleSince(start.cpu)
	return nil
}

func take(conn net.Conn, wire func() (Counter, error)) (s sample, err error) {
	if s.cpu, err = readProcessorTimes(); err != nil {
		return s, err
	}
	if s.wire, err = wire(); err != nil {
		return s, err
	}
	s.at = time.Now()
	s.received, err = received(conn)
	return s, err
}

// drain reads and forgets until end.
func drain(conn net.Conn, buffer []byte, end time.Time) error {
	for time.Now().Before(end) {
		if _, err := conn.Read(buffer); err != nil {
			return err
		}
	}
	return nil
}

// received is how much of the stream TCP has acknowledged on the receiving side.
func received(conn net.Conn) (bytes units.Bytes, err error) {
	err = withSocket(conn, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			bytes = units.Bytes(info.Bytes_received)
		}
		return err
	})
	return bytes, err
}

// connect opens a TCP connection whose two sockets live in the two namespaces.
func connect(ctx context.Context, from, to Endpoint) (sender, receiver net.Conn, err error) {
	var listener net.Listener
	err = netns.Do(to.NetNS, func() (err error) {
		// Plain TCP: a multipath listener, which is Go's default, is another socket type.
		config := net.ListenConfig{}
		config.SetMultipathTCP(false)
		listener, err = config.Listen(ctx, "tcp4", netip.AddrPortFrom(to.Address, 0).String())
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listen in %s: %w", to.Name, err)
	}
	defer listener.Close()
	err = netns.Do(from.NetNS, func() (err error) {
		dialer := net.Dialer{Timeout: 5 * time.Second}
		dialer.SetMultipathTCP(false)
		sender, err = dialer.DialContext(ctx, "tcp4", listener.Addr().String())
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("connect from %s to %s: %w", from.Name, to.Name, err)
	}
	if receiver, err = listener.Accept(); err != nil {
		sender.Close()
		return nil, nil, fmt.Errorf("accept in %s: %w", to.Name, err)
	}
	return sender, receiver, nil
}

// congestion is the congestion control algorithm that a connection sends with.
func congestion(conn net.Conn) (name string, err error) {
	err = withSocket(conn, func(fd int) (err error) {
		name, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		return err
	})
	return name, err
}

func withSocket(conn net.Conn, do func(fd int) error) error {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var result error
	controlled := raw.Control(func(fd uintptr) { result = do(int(fd)) })
	return errors.Join(controlled, result)
}
