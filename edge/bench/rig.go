package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"secondhop/edge/haproxy"
	"secondhop/edge/plan"
	"secondhop/edge/policy"
	"secondhop/edge/process"
	"secondhop/edge/render"
	"secondhop/edge/runtime"
	"secondhop/internal/wait"
)

// rig is HAProxy on loopback with edge's configuration for one app of ten pods,
// four of them local.
type rig struct {
	draw, plain string // addresses of the two frontends
	dir         string
	haproxy     *process.HAProxy
	pods        []*responder
	worker      int
}

const pods, localPods = 10, 4

func start(ctx context.Context, program string) (_ *rig, err error) {
	r := &rig{}
	defer func() {
		if err != nil {
			r.stop()
		}
	}()
	if r.dir, err = os.MkdirTemp("", "edge-bench-"); err != nil {
		return nil, err
	}
	for range pods {
		pod, err := startResponder()
		if err != nil {
			return nil, err
		}
		r.pods = append(r.pods, pod)
	}
	paths := process.Paths{Program: program, Config: r.in("haproxy.cfg"), MasterSocket: r.in("master.sock"), StatsSocket: r.in("haproxy.sock")}
	if err = r.configure(paths); err != nil {
		return nil, err
	}
	if r.haproxy, err = process.Start(ctx, paths, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	client := runtime.Client{Socket: paths.StatsSocket}
	if r.worker, err = client.WorkerPID(ctx); err != nil {
		return nil, err
	}
	return r, waitOpen(ctx, client)
}

func (r *rig) in(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) stop() {
	if r.haproxy != nil {
		r.haproxy.Kill()
	}
	for _, pod := range r.pods {
		pod.stop()
	}
	if r.dir != "" {
		os.RemoveAll(r.dir)
	}
}

// configure writes what edge itself would write.
func (r *rig) configure(paths process.Paths) error {
	// The process id in the address keeps two runs at once apart.
	host := fmt.Sprintf("127.%d.%d.1", 128+os.Getpid()>>8&63, os.Getpid()&255)
	r.draw, r.plain = host+":18080", host+":18081"
	key := plan.AppKey{Namespace: "app", Service: "shop", Port: "80"}
	app := policy.App{Namespace: "app", Service: "shop", Port: 80}
	for i, pod := range r.pods {
		app.Endpoints = append(app.Endpoints, policy.Endpoint{Address: pod.http, Ready: true})
		if i < localPods {
			app.Slots = append(app.Slots, policy.Slot{Number: i, Address: pod.http, AgentPort: pod.agent})
		}
	}
	var planner plan.Planner
	routes, backends, _ := planner.Plan(plan.Snapshot{
		Ingresses: []plan.Ingress{{Namespace: "app", Name: "shop", Policy: "slots", Redispatch: true, Rules: []plan.Rule{{Host: "shop.example", Path: "/", App: key}}}},
		Apps:      map[plan.AppKey]policy.App{key: app},
	})
	var text bytes.Buffer
	err := render.Write(&text, render.Config{Routes: routes, Backends: backends, Process: render.Process{
		Node: "bench", Bind: r.draw, PlainBind: r.plain, StatsSocket: paths.StatsSocket, StateFile: r.in("state"), Threads: 1, MaxConn: 1000,
		HardStopAfter: time.Second,
	}}, render.InText)
	if err != nil {
		return err
	}
	return os.WriteFile(paths.Config, text.Bytes(), 0o600)
}

func waitOpen(ctx context.Context, client runtime.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return wait.Until(ctx, "all slots to open", 50*time.Millisecond, func(ctx context.Context) error {
		text, err := client.Do(ctx, "show stat")
		if err != nil {
			return err
		}
		servers, err := haproxy.ParseStat(strings.NewReader(text))
		open := 0
		for _, s := range servers {
			if strings.HasPrefix(s.Server, haproxy.SlotPrefix) && s.Up() && s.Weight == 100 {
				open++
			}
		}
		if err == nil && open < localPods {
			err = fmt.Errorf("%d of %d are open", open, localPods)
		}
		return err
	})
}

// cpu is the time that the worker's only thread has run, finer than the ticks of
// /proc/PID/stat.
func (r *rig) cpu() (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(r.worker) + "/schedstat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return 0, errors.New("schedstat is empty")
	}
	ns, err := strconv.ParseInt(fields[0], 10, 64)
	return time.Duration(ns), err
}

// measure sends requests and returns the worker's microseconds of CPU for each.
func (r *rig) measure(ctx context.Context, address string, requests, connections int) (float64, error) {
	conns, err := dialAll(ctx, address, connections)
	if err != nil {
		return 0, err
	}
	defer closeAll(conns)
	before, err := r.cpu()
	if err != nil {
		return 0, err
	}
	n, err := sendAll(ctx, conns, requests)
	if err != nil {
		return 0, err
	}
	after, err := r.cpu()
	return float64((after - before).Microseconds()) / float64(n), err
}

// responder is the cheapest pod there can be: one answer for each read.
type responder struct {
	http      netip.AddrPort
	agent     uint16
	listeners []net.Listener
}

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n"

func startResponder() (*responder, error) {
	p := &responder{}
	response := []byte(answer + strings.Repeat("x", 200))
	address, err := p.listen(func(conn net.Conn) {
		buffer := make([]byte, 4096)
		for {
			if _, err := conn.Read(buffer); err != nil {
				return
			}
			if _, err := conn.Write(response); err != nil {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	agent, err := p.listen(func(conn net.Conn) { fmt.Fprintln(conn, "up ready 100%") })
	if err != nil {
		p.stop()
		return nil, err
	}
	p.http, p.agent = address, agent.Port()
	return p, nil
}

func (p *responder) listen(serve func(net.Conn)) (netip.AddrPort, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, err
	}
	p.listeners = append(p.listeners, listener)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return netip.ParseAddrPort(listener.Addr().String())
}

func (p *responder) stop() {
	for _, listener := range p.listeners {
		listener.Close()
	}
}
