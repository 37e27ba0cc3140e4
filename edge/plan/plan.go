package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"secondhop/edge/policy"
	"secondhop/edge/render"
)

// Planner makes configurations of snapshots. Its zero value is ready. It is not
// safe for concurrent use.
type Planner struct {
	pools map[AppKey]*pool
}

// Plan returns routes and backends for a snapshot, and what could not be done as
// asked. Equal histories of snapshots give equal configurations.
func (p *Planner) Plan(s Snapshot) ([]render.Route, []render.Backend, []Problem) {
	b := &builder{planner: p, snapshot: s, backends: map[string]render.Backend{}, taken: map[matcher]string{}}
	ingresses := slices.SortedFunc(slices.Values(s.Ingresses), olderFirst)
	for _, ingress := range ingresses {
		b.ingress(ingress)
	}
	p.forget(b.used)
	sortRoutes(b.routes)
	backends := make([]render.Backend, 0, len(b.backends))
	for _, backend := range b.backends {
		backends = append(backends, backend)
	}
	slices.SortFunc(backends, func(x, y render.Backend) int { return strings.Compare(x.Name, y.Name) })
	return b.routes, backends, b.problems
}

// forget drops the pools of apps that no rule names any more.
func (p *Planner) forget(used map[AppKey]bool) {
	for key := range p.pools {
		if !used[key] {
			delete(p.pools, key)
		}
	}
}

// places returns the pool of an app with its ready endpoints in place.
func (p *Planner) places(key AppKey, app policy.App) []netip.AddrPort {
	if p.pools == nil {
		p.pools = map[AppKey]*pool{}
	}
	if p.pools[key] == nil {
		p.pools[key] = &pool{}
	}
	all, _ := policy.Endpoints(policy.Node{}, app) // never fails
	p.pools[key].assign(all.Endpoints)
	return p.pools[key].places
}

// builder is one call of Plan.
type builder struct {
	planner  *Planner
	snapshot Snapshot
	used     map[AppKey]bool
	taken    map[matcher]string // which Ingress has a host and path
	routes   []render.Route
	backends map[string]render.Backend
	problems []Problem
}

type matcher struct {
	host, path string
	exact      bool
}

func (b *builder) problem(i Ingress, reason, format string, args ...any) {
	b.problems = append(b.problems, Problem{
		Namespace: i.Namespace, Ingress: i.Name, UID: i.UID, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}

func (b *builder) ingress(i Ingress) {
	name := i.Policy
	if name == "" {
		name = policy.Fallback
	}
	if _, err := policy.Find(name); err != nil {
		b.problem(i, "UnknownPolicy", "%v; it is served by %s instead", err, policy.Fallback)
		name = policy.Fallback
	}
	for _, rule := range i.Rules {
		match := matcher{rule.Host, rule.Path, rule.Exact}
		if other, ok := b.taken[match]; ok {
			b.problem(i, "Conflict", "host %q path %q already goes where Ingress %s says", rule.Host, rule.Path, other)
			continue
		}
		b.taken[match] = i.Namespace + "/" + i.Name
		b.routes = append(b.routes, b.rule(i, rule, name))
	}
}

// rule makes sure that the backends of a rule are there, and returns its route.
func (b *builder) rule(i Ingress, rule Rule, policyName string) render.Route {
	app, ok := b.snapshot.Apps[rule.App]
	if ok {
		rule.App.Port = strconv.Itoa(int(app.Port)) // one app, whether by number or by name
	} else {
		app = policy.App{Namespace: rule.App.Namespace, Service: rule.App.Service}
		b.problem(i, "NoService", "no Service %s/%s with port %s; its requests get 503", rule.App.Namespace, rule.App.Service, rule.App.Port)
	}
	choice, err := choose(policyName, b.snapshot.Node, app)
	if err != nil {
		b.problem(i, "PolicyNotPossible", "policy %s: %v; it is served by %s instead", policyName, err, policy.Fallback)
		policyName = policy.Fallback
		choice, _ = policy.Endpoints(b.snapshot.Node, app) // never fails
	}
	owner := b.plain(rule.App, app)
	route := render.Route{Host: rule.Host, Path: rule.Path, Exact: rule.Exact}
	route.Backend = b.backend(owner, policyName, i.Redispatch, choice)
	route.Plain = owner.Name
	if !i.Redispatch {
		all, _ := policy.Endpoints(b.snapshot.Node, app)
		route.Plain = b.backend(owner, plainSuffix, false, all)
	}
	return route
}

func choose(name string, node policy.Node, app policy.App) (policy.Choice, error) {
	pick, err := policy.Find(name)
	if err != nil {
		return policy.Choice{}, err
	}
	return pick(node, app)
}

// Suffixes of backend names; the first part is namespace, Service and port.
const (
	plainSuffix      = "plain"
	noRedispatch     = "noredispatch"
	serviceServer    = "svc"
	regularServerTag = "reg"
)

// plain is the backend that owns the app's endpoints: it checks them, and the
// other backends of the app follow.
func (b *builder) plain(key AppKey, app policy.App) render.Backend {
	name := strings.Join([]string{key.Namespace, key.Service, key.Port, plainSuffix}, ".")
	if backend, ok := b.backends[name]; ok {
		return backend
	}
	if b.used == nil {
		b.used = map[AppKey]bool{}
	}
	b.used[key] = true
	backend := render.Backend{Name: name, Redispatch: true}
	for i, address := range b.planner.places(key, app) {
		server := render.Server{Name: regularServerTag + strconv.Itoa(i), Address: address, Enabled: address.IsValid()}
		backend.Servers = append(backend.Servers, server)
	}
	b.backends[name] = backend
	return backend
}

// backend adds the backend of one policy and returns its name.
func (b *builder) backend(owner render.Backend, suffix string, redispatch bool, choice policy.Choice) string {
	name := strings.TrimSuffix(owner.Name, plainSuffix) + suffix
	if !redispatch {
		name += "." + noRedispatch
	}
	backend := render.Backend{Name: name, Track: owner.Name, Redispatch: redispatch}
	if choice.Service.IsValid() {
		backend.Track = ""
		backend.OneConnectionEach = true
		backend.Servers = []render.Server{{Name: serviceServer, Address: choice.Service, Enabled: true}}
	} else {
		backend.Servers = follow(owner.Servers, choice.Endpoints)
	}
	backend.Published = choice.Published
	for _, slot := range choice.Slots {
		backend.Slots = append(backend.Slots, render.Slot{Number: slot.Number, Address: slot.Address.String(), AgentPort: slot.AgentPort})
	}
	b.backends[name] = backend
	return name
}

// follow copies the owner's servers and leaves open those that hold an endpoint
// which was chosen.
func follow(owner []render.Server, chosen []netip.AddrPort) []render.Server {
	servers := slices.Clone(owner)
	for i, server := range servers {
		servers[i].Enabled = server.Enabled && slices.Contains(chosen, server.Address)
	}
	return servers
}
