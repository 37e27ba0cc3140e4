package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startServer runs the trivial server as a process on its core.
func startServer(ctx context.Context, o Options) (url string, stop func(), err error) {
	cmd := pinned(ctx, o.Server, o.Loadgen, "bench-server")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("start bench server: %w", err)
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // how it ends does not matter: the table is made
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start bench server: it did not say where it listens: %w", err)
	}
	return "http://" + strings.TrimSpace(address) + "/", stop, nil
}

// pinned prepares a program on one core.
func pinned(ctx context.Context, core int, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(core)}, argv...)...)
}

// finish runs a program to its end; cpu is what it used.
func finish(cmd *exec.Cmd) (stdout []byte, cpu time.Duration, err error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", cmd, err, bytes.TrimSpace(said.Bytes()))
	}
	return out.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// unpaced is the rate that stands for "as many as it can" in an open loop: more
// than any generator reaches on a core, sent on a fixed number of connections.
const unpaced = 50_000

func measureLoadgen(ctx context.Context, o Options, url string, rate int) (measurement, error) {
	dir, err := os.MkdirTemp("", "secondhop-bench-")
	if err != nil {
		return measurement{}, err
	}
	defer os.RemoveAll(dir)
	plan := map[string]any{
		"targets":  []any{map[string]any{"node": "server", "address": strings.Trim(strings.TrimPrefix(url, "http:"), "/")}},
		"duration": o.Duration.String(), "host": "bench", "connectionsPerTarget": 16,
		"maxConnections": connections, "rate": rate,
	}
	if rate == 0 {
		plan["rate"], plan["connectionsPerTarget"] = unpaced, connections
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return measurement{}, err
	}
	cmd := pinned(ctx, o.Core, o.Loadgen, "run", "--plan", "-", "--out", dir)
	cmd.Stdin = bytes.NewReader(text)
	if _, _, err := finish(cmd); err != nil {
		return measurement{}, err
	}
	m, err := readLoadgen(filepath.Join(dir, "summary.json"))
	if rate == 0 {
		m.off = -1 // it is meant to fall behind
	}
	return m, err
}

// readLoadgen takes the summary apart by itself: the engine's package, whose
// tests use this one's server, is not imported here.
func readLoadgen(path string) (measurement, error) {
	var s struct {
		Elapsed            time.Duration
		Requests, Failed   uint64
		Offered, Achieved  float64
		Lateness, Response struct{ P99 time.Duration }
		Host               struct{ CPUUsed time.Duration }
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil || s.Requests == 0 {
		return measurement{}, fmt.Errorf("summary of loadgen: %d requests: %w", s.Requests, err)
	}
	answered := s.Requests - s.Failed
	return measurement{
		answered: float64(answered) / s.Elapsed.Seconds(), failed: float64(s.Failed),
		off:  math.Abs(s.Achieved/s.Offered - 1),
		late: s.Lateness.P99, response: s.Response.P99,
		cpu: s.Host.CPUUsed / time.Duration(max(answered, 1)),
	}, nil
}

func measureVegeta(ctx context.Context, o Options, url string, rate int) (measurement, error) {
	results, err := os.CreateTemp("", "secondhop-bench-")
	if err != nil {
		return measurement{}, err
	}
	defer os.Remove(results.Name())
	defer results.Close()
	argv := []string{o.Vegeta, "attack", "-duration", o.Duration.String(), "-rate", strconv.Itoa(rate), "-output", results.Name()}
	if rate == 0 {
		argv = append(argv, "-max-workers", strconv.Itoa(connections), "-workers", strconv.Itoa(connections))
	}
	attack := pinned(ctx, o.Core, argv...)
	attack.Stdin = strings.NewReader("GET " + url + "\n")
	_, cpu, err := finish(attack)
	if err != nil {
		return measurement{}, err
	}
	report, _, err := finish(exec.CommandContext(ctx, o.Vegeta, "report", "-type", "json", results.Name()))
	if err != nil {
		return measurement{}, err
	}
	return parseVegeta(report, rate, cpu)
}

// parseVegeta reads its JSON report. Lateness is not in it: its times count from
// when a request is taken up.
func parseVegeta(report []byte, rate int, cpu time.Duration) (measurement, error) {
	var r struct {
		Latencies  map[string]time.Duration `json:"latencies"`
		Requests   uint64                   `json:"requests"`
		Rate       float64                  `json:"rate"`
		Throughput float64                  `json:"throughput"`
		Success    float64                  `json:"success"`
	}
	if err := json.Unmarshal(report, &r); err != nil || r.Requests == 0 {
		return measurement{}, fmt.Errorf("report of vegeta %.80q: %w", report, err)
	}
	off := -1.0
	if rate > 0 {
		off = math.Abs(r.Rate/float64(rate) - 1)
	}
	return measurement{
		answered: r.Throughput, off: off, failed: float64(r.Requests) * (1 - r.Success),
		late: -1, response: r.Latencies["99th"], cpu: cpu / time.Duration(r.Requests),
	}, nil
}

func measureWrk(ctx context.Context, o Options, url string, _ int) (measurement, error) {
	seconds := strconv.Itoa(max(1, int(o.Duration.Seconds())))
	report, cpu, err := finish(pinned(ctx, o.Core, o.Wrk, "-t1", "-c", strconv.Itoa(connections), "-d", seconds, "--latency", url))
	if err != nil {
		return measurement{}, err
	}
	return parseWrk(string(report), cpu)
}

// parseWrk reads its report, which is for people. A closed loop has no lateness.
func parseWrk(report string, cpu time.Duration) (measurement, error) {
	field := func(pattern string) string {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(report); found != nil {
			return found[1]
		}
		return ""
	}
	answered, err := strconv.ParseFloat(field(`Requests/sec:\s+([0-9.]+)`), 64)
	if err != nil {
		return measurement{}, fmt.Errorf("report of wrk %.80q: requests/sec: %w", report, err)
	}
	requests, err := strconv.ParseUint(field(`(\d+) requests in`), 10, 64)
	if err != nil || requests == 0 {
		return measurement{}, fmt.Errorf("report of wrk %.80q: requests: %w", report, err)
	}
	response, err := time.ParseDuration(field(`99%\s+([0-9.]+[a-z]+)`))
	if err != nil {
		return measurement{}, fmt.Errorf("report of wrk %.80q: latency: %w", report, err)
	}
	failed, _ := strconv.ParseFloat(field(`Non-2xx or 3xx responses: (\d+)`), 64) // not there: 0
	return measurement{answered: answered, off: -1, failed: failed, late: -1, response: response, cpu: cpu / time.Duration(requests)}, nil
}
