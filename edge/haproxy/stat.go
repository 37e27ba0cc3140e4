// Package haproxy reads what HAProxy says about itself: the statistics table
// and the saved state of servers. It parses only; package edge/runtime talks to
// the socket.
package haproxy

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ServerStat is one server of `show stat`. Counters start at 0 in every worker,
// so a reload resets them.
type ServerStat struct {
	Proxy  string // backend
	Server string
	// Status is HAProxy's word: "UP", "DOWN", "MAINT", "DRAIN", "no check", also
	// with progress ("UP 1/3") or the cause ("DOWN (agent)", "MAINT (via b/s)").
	Status      string
	Weight      int    // effective weight, slow start included (srv_weight of the draw)
	SetWeight   int    // weight last set by the agent or the runtime API; -1 where not told
	CheckStatus string // of the last health check ("L4OK", "L4TOUT", ...), "" without one
	AgentStatus string // of the last agent poll ("L7OK", "L4CON", ...), "" without one

	Requests        uint64    // req_tot: requests that the server was given and answered
	Responses       Responses // complete responses by class
	Sessions        uint64    // stot: attempts, so retries count more than once
	Balanced        uint64    // lbtot: times chosen by the balancing (use-server does not count)
	Retries         uint64    // wretr
	Redispatches    uint64    // wredis, booked on the server that was left
	ConnectErrors   uint64    // econ
	ResponseErrors  uint64    // eresp
	BytesIn         uint64    // bytes of requests
	BytesOut        uint64    // bytes of responses
	CurrentSessions uint64    // scur
}

// Responses counts a server's answers by status class (hrsp_1xx ... hrsp_other).
type Responses struct {
	Informational, Success, Redirect, ClientError, ServerError, Other uint64
}

// Total is the number of answers of any class.
func (r Responses) Total() uint64 {
	return r.Informational + r.Success + r.Redirect + r.ClientError + r.ServerError + r.Other
}

// Up reports whether the server takes traffic as far as its state goes.
func (s ServerStat) Up() bool {
	return strings.HasPrefix(s.Status, "UP") || s.Status == "no check"
}

// serverRow is the value of column "type" in the rows of servers.
const serverRow = "2"

// ParseStat reads the CSV of `show stat` and returns its servers in HAProxy's
// order; rows of frontends and backends are skipped. Empty counters are 0. It
// fails on input that is not this table, naming line and column.
func ParseStat(r io.Reader) ([]ServerStat, error) {
	table, err := newTable(r)
	if err != nil {
		return nil, err
	}
	var servers []ServerStat
	for {
		row, err := table.next()
		if errors.Is(err, io.EOF) {
			return servers, nil
		}
		if err != nil {
			return nil, err
		}
		if row.text("type") != serverRow {
			continue
		}
		server := row.server()
		if row.err != nil {
			return nil, row.err
		}
		servers = append(servers, server)
	}
}

// table is the statistics CSV with its columns by name: HAProxy adds columns
// with every version, so positions cannot be relied on.
type table struct {
	csv    *csv.Reader
	column map[string]int
}

func newTable(r io.Reader) (*table, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1 // the trailing comma and blank last line vary
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("parse show stat: header: %w", err)
	}
	t := &table{csv: in, column: make(map[string]int, len(header))}
	for i, name := range header {
		t.column[strings.TrimPrefix(name, "# ")] = i
	}
	for _, name := range []string{"pxname", "svname", "type", "status", "weight", "stot", "lbtot", "req_tot", "hrsp_2xx"} {
		if _, ok := t.column[name]; !ok {
			return nil, fmt.Errorf("parse show stat: header has no column %s", name)
		}
	}
	return t, nil
}

func (t *table) next() (*statRow, error) {
	fields, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("parse show stat: %w", err)
	}
	line, _ := t.csv.FieldPos(0)
	return &statRow{fields: fields, column: t.column, line: line}, nil
}

// statRow is one row; the first bad field is kept in err.
type statRow struct {
	fields []string
	column map[string]int
	line   int
	err    error
}

func (r *statRow) text(name string) string {
	i, ok := r.column[name]
	if !ok || i >= len(r.fields) {
		return ""
	}
	return r.fields[i]
}

func (r *statRow) count(name string) uint64 {
	text := r.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("parse show stat: line %d: column %s is %q, want a count", r.line, name, text)
	}
	return n
}

func (r *statRow) weight(name string, absent int) int {
	text := r.text(name)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("parse show stat: line %d: column %s is %q, want a weight", r.line, name, text)
	}
	return int(n)
}

func (r *statRow) server() ServerStat {
	return ServerStat{
		Proxy:           strings.Clone(r.text("pxname")),
		Server:          strings.Clone(r.text("svname")),
		Status:          strings.Clone(r.text("status")),
		Weight:          r.weight("weight", 0),
		SetWeight:       r.weight("uweight", -1),
		CheckStatus:     strings.Clone(r.text("check_status")),
		AgentStatus:     strings.Clone(r.text("agent_status")),
		Requests:        r.count("req_tot"),
		Responses:       r.responses(),
		Sessions:        r.count("stot"),
		Balanced:        r.count("lbtot"),
		Retries:         r.count("wretr"),
		Redispatches:    r.count("wredis"),
		ConnectErrors:   r.count("econ"),
		ResponseErrors:  r.count("eresp"),
		BytesIn:         r.count("bin"),
		BytesOut:        r.count("bout"),
		CurrentSessions: r.count("scur"),
	}
}

func (r *statRow) responses() Responses {
	return Responses{
		Informational: r.count("hrsp_1xx"),
		Success:       r.count("hrsp_2xx"),
		Redirect:      r.count("hrsp_3xx"),
		ClientError:   r.count("hrsp_4xx"),
		ServerError:   r.count("hrsp_5xx"),
		Other:         r.count("hrsp_other"),
	}
}
