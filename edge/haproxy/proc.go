package haproxy

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Worker is one worker process that HAProxy's master knows.
type Worker struct {
	PID int
	// Reloads is how many reloads it has seen, those that failed included: 0 for
	// the one that was started last.
	Reloads int
}

// ParseWorkers reads the answer of the master's socket to `show proc`.
func ParseWorkers(r io.Reader) ([]Worker, error) {
	var workers []Worker
	lines := bufio.NewScanner(r)
	header := false
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 0 && fields[0] == "#<PID>" {
			header = true
		}
		if len(fields) < 3 || fields[1] != "worker" {
			continue
		}
		pid, pidErr := strconv.Atoi(fields[0])
		reloads, reloadsErr := strconv.Atoi(fields[2])
		if pidErr != nil || reloadsErr != nil || pid <= 0 || reloads < 0 {
			return nil, fmt.Errorf("parse show proc: %q is not a worker", lines.Text())
		}
		workers = append(workers, Worker{PID: pid, Reloads: reloads})
	}
	if !header && lines.Err() == nil {
		return nil, fmt.Errorf("parse show proc: no header line")
	}
	return workers, lines.Err()
}
