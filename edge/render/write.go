package render

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Write writes the configuration. It fails on names and values that cannot stand
// in one, and when w does.
func Write(w io.Writer, c Config, addresses Addresses) error {
	if err := c.validate(); err != nil {
		return err
	}
	out := &writer{Writer: bufio.NewWriter(w)}
	out.process(c.Process)
	out.frontend("http", c.Process.Bind, c, func(r Route) string { return r.Backend })
	out.frontend("plain", c.Process.PlainBind, c, func(r Route) string { return r.Plain })
	out.own()
	for _, backend := range c.Backends {
		out.backend(backend, addresses)
	}
	return out.Flush()
}

// writer keeps the first error of its buffer until Flush.
type writer struct{ *bufio.Writer }

// section begins a section, line writes one of its lines.
func (w *writer) section(format string, args ...any) { fmt.Fprintf(w, "\n"+format+"\n", args...) }
func (w *writer) line(format string, args ...any)    { fmt.Fprintf(w, "    "+format+"\n", args...) }

func (w *writer) process(p Process) {
	fmt.Fprintln(w, "# Written by edge; changes are lost.")
	fmt.Fprintln(w, "global")
	w.line("stats socket %s mode 600 level admin expose-fd listeners", p.StatsSocket)
	w.line("server-state-file %s", p.StateFile)
	w.line("nbthread %d", p.Threads)
	if p.MaxConn > 0 {
		w.line("maxconn %d", p.MaxConn)
	}
	w.line("hard-stop-after %s", milliseconds(p.HardStopAfter))
	w.section("defaults")
	w.line("mode http")
	w.line("timeout connect 1s")
	w.line("timeout client 30s")
	w.line("timeout server 10s")
	w.line("timeout http-request 10s")
	// Less than a stopping edge waits, since idle clients hold up its end.
	w.line("timeout http-keep-alive 20s")
	// A replaced worker closes an idle connection after its next answer and not at
	// once: a request that is on its way just then would be lost. With
	// close-spread-time the option has no effect (seen with 2.6 and 3.0).
	w.line("option idle-close-on-response")
	w.line("load-server-state-from-file global")
}

func (w *writer) frontend(name, bind string, c Config, backend func(Route) string) {
	w.section("frontend %s", name)
	w.line("bind %s", bind)
	w.line("monitor-uri %s", HealthPath)
	w.line("monitor fail if { nbsrv(%s) lt 1 }", HealthBackend)
	w.line("http-after-response set-header X-Ingress-Node %s", quote(strings.ReplaceAll(c.Process.Node, "%", "%%")))
	w.line("http-response set-header X-Server %%[srv_name]")
	// While the health page fails, connections end with the answer to their request,
	// so that none is left when the edge stops.
	w.line("http-after-response set-header Connection close if { nbsrv(%s) lt 1 }", HealthBackend)
	for _, route := range c.Routes {
		w.route(backend(route), route)
	}
	w.line("default_backend %s", unmatched)
}

// route writes the rules of one route. A prefix is one of whole path segments:
// /a takes /a and /a/b, but not /ab.
func (w *writer) route(backend string, r Route) {
	host := hostCondition(r.Host)
	prefix := strings.TrimRight(r.Path, "/")
	switch {
	case r.Exact:
		w.rule(backend, host, "{ path -m str -- "+quote(r.Path)+" }")
	case prefix == "":
		w.rule(backend, host)
	default:
		w.rule(backend, host, "{ path -m str -- "+quote(prefix)+" }")
		w.rule(backend, host, "{ path -m beg -- "+quote(prefix+"/")+" }")
	}
}

func (w *writer) rule(backend string, conditions ...string) {
	if text := strings.TrimSpace(strings.Join(conditions, " ")); text != "" {
		backend += " if " + text
	}
	w.line("use_backend %s", backend)
}

func hostCondition(host string) string {
	if host == "" {
		return ""
	}
	if suffix, ok := strings.CutPrefix(host, "*"); ok {
		pattern := `^[^.]+` + regexp.QuoteMeta(suffix) + "$"
		return "{ req.hdr(host),host_only -m reg -i -- " + quote(pattern) + " }"
	}
	return "{ req.hdr(host),host_only -m str -i -- " + quote(host) + " }"
}

// own writes the backends that edge has for itself.
func (w *writer) own() {
	w.section("backend %s", HealthBackend)
	w.line("server %s %s disabled", HealthServer, Placeholder())
	w.section("backend %s", unmatched)
	w.line("http-request return status 404 content-type text/plain string 'no Ingress for this host and path'")
}

func (w *writer) backend(b Backend, addresses Addresses) {
	w.section("backend %s", b.Name)
	w.line("balance roundrobin")
	w.failover(b.Redispatch)
	if b.OneConnectionEach {
		w.line("http-reuse never")
		w.line("option http-server-close")
	}
	if b.Published {
		w.published(b.Slots)
	} else {
		w.draw(b.Slots)
	}
	for _, server := range b.Servers {
		w.server(b, server, addresses)
	}
	for _, slot := range b.Slots {
		if b.Published {
			w.publishedSlot(slot)
		} else {
			w.slot(slot, "")
		}
	}
}

// failover writes what happens when a server fails. Only requests that may be
// repeated are: one that cannot be sent at all is nevertheless sent elsewhere.
func (w *writer) failover(redispatch bool) {
	w.line("retries 3")
	if !redispatch {
		w.line("no option redispatch")
		return
	}
	w.line("option redispatch 1")
	w.line("retry-on conn-failure empty-response")
	w.line("http-request disable-l7-retry unless { method GET HEAD OPTIONS }")
}

func (w *writer) server(b Backend, s Server, addresses Addresses) {
	address, enabled := s.Address, s.Enabled
	if addresses == RuntimeOnly || !address.IsValid() {
		address, enabled = Placeholder(), false
	}
	options := " check inter 2s"
	if b.Track != "" {
		options = " track " + b.Track + "/" + s.Name
	}
	if !enabled {
		options += " disabled"
	}
	w.line("server %s %s%s", s.Name, address, options)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
