package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// kernelFeature is a kernel facility that the lab uses, tried for real.
type kernelFeature struct {
	name   string
	why    string
	module string
	try    func() error
}

func kernelFeatures() []kernelFeature {
	return []kernelFeature{
		{"kernel: veth", "joins nodes to the lab's network", "veth", tryVeth},
		{"kernel: bridge", "is the lab's network", "bridge", tryBridge},
		{"kernel: tbf", "shapes the links", "sch_tbf", tryTbf},
		{"kernel: nftables", "splits bytes by kind", "nf_tables", tryNftables},
	}
}

func (m *machine) kernelChecks() []Check {
	var checks []Check
	for _, f := range kernelFeatures() {
		checks = append(checks, Check{
			Name: f.name,
			Look: func(context.Context) Finding { return m.lookKernel(f) },
			Fix: func(ctx context.Context) error {
				if !m.isRoot() {
					return errNotRoot
				}
				_, err := m.run(ctx, "modprobe", f.module)
				return err
			},
		})
	}
	return checks
}

func (m *machine) lookKernel(f kernelFeature) Finding {
	if !m.isRoot() {
		return Finding{Problem: "not tried, which needs root", Cure: "run doctor as root once", Optional: true}
	}
	if err := inScratchNamespace(f.try); err != nil {
		return Finding{Problem: fmt.Sprintf("the kernel refuses what %s: %v", f.why, err), Cure: "modprobe " + f.module + ", or a kernel that has it"}
	}
	return Finding{Detail: "works; it " + f.why}
}

// inScratchNamespace runs f in a network namespace of its own. The thread that
// is in it ends with the goroutine, and the namespace with the thread.
func inScratchNamespace(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread must not be used again
		ns, err := netns.New()
		if err != nil {
			result <- fmt.Errorf("make a network namespace: %w", err)
			return
		}
		err = f()
		result <- errors.Join(err, ns.Close())
	}()
	return <-result
}

func tryVeth() error {
	return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "probe0"}, PeerName: "probe1"})
}

func tryBridge() error {
	return netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "probe0"}})
}

func tryTbf() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: loopback.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
		Rate:       125_000, Buffer: 16_384, Limit: 65_536,
	})
}

func tryNftables() error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	table := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "probe"})
	chain := conn.AddChain(&nftables.Chain{Name: "input", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter})
	conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{&expr.Counter{}}})
	return conn.Flush()
}

// sysctlMinimum is a kernel setting and the least value that will do.
type sysctlMinimum struct {
	path    string
	minimum int
}

// inotifyMinimums are what five nodes need: each node's systemd, kubelet and
// containerd watch many files, and all count as the same user.
func inotifyMinimums() []sysctlMinimum {
	return []sysctlMinimum{
		{"/proc/sys/fs/inotify/max_user_instances", 8192},
		{"/proc/sys/fs/inotify/max_user_watches", 524_288},
	}
}

func (m *machine) inotifyCheck() Check {
	return Check{Name: "inotify limits", Look: func(context.Context) Finding { return m.lookSysctl(inotifyMinimums()) },
		Fix: func(context.Context) error { return m.raiseSysctl(inotifyMinimums()) }}
}

func (m *machine) lookSysctl(minimums []sysctlMinimum) Finding {
	var f Finding
	for _, s := range minimums {
		value, err := m.readNumber(s.path)
		name := sysctlName(s.path)
		if err != nil {
			return Finding{Problem: err.Error(), Cure: "a Linux machine with " + name}
		}
		if value < s.minimum {
			f.Problem += fmt.Sprintf("%s is %d, below %d; ", name, value, s.minimum)
			f.Cure += fmt.Sprintf("%s=%d ", name, s.minimum)
		}
		f.Detail += fmt.Sprintf("%s %d; ", name, value)
	}
	if f.Problem != "" {
		f.Cure = "sysctl -w " + f.Cure[:len(f.Cure)-1]
		f.Problem = f.Problem[:len(f.Problem)-2]
	}
	f.Detail = f.Detail[:len(f.Detail)-2]
	return f
}

func (m *machine) readNumber(path string) (int, error) {
	text, err := m.read(path)
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return number, nil
}

// raiseSysctl raises what is too low and remembers what it was.
func (m *machine) raiseSysctl(minimums []sysctlMinimum) error {
	for _, s := range minimums {
		value, err := m.readNumber(s.path)
		if err != nil {
			return err
		}
		if value >= s.minimum {
			continue
		}
		if !m.isRoot() {
			return errNotRoot
		}
		err = m.record(func(c *changes) {
			if _, known := c.Sysctl[s.path]; !known {
				c.Sysctl[s.path] = strconv.Itoa(value)
			}
		})
		if err != nil {
			return err
		}
		if err := os.WriteFile(m.path(s.path), []byte(strconv.Itoa(s.minimum)+"\n"), 0o644); err != nil {
			return fmt.Errorf("raise %s: %w", sysctlName(s.path), err)
		}
	}
	return nil
}
