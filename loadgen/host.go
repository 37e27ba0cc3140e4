package loadgen

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// hostSample is what the process had cost at one instant.
type hostSample struct {
	when     time.Time
	cpu      time.Duration
	runDelay time.Duration
	pauses   []uint64 // counts by bucket
	memory   units.Bytes
}

const pausesMetric = "/sched/pauses/total/gc:seconds"

func startHost() hostSample { return sampleHost() }

func sampleHost() hostSample {
	s := hostSample{when: time.Now(), runDelay: runDelay()}
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		s.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		s.memory = units.Bytes(usage.Maxrss) * units.Kibibyte
	}
	if pauses := readPauses(); pauses != nil {
		s.pauses = append(s.pauses, pauses.Counts...)
	}
	return s
}

func readPauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: pausesMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return sample[0].Value.Float64Histogram()
}

// until is what the run cost from the earlier sample to this one.
func (s hostSample) until(end hostSample) Host {
	cores := float64(runtime.GOMAXPROCS(0)) // follows affinity and cgroup quota
	h := Host{Cores: cores, CPUUsed: end.cpu - s.cpu, RunDelay: end.runDelay - s.runDelay, Memory: end.memory, Realtime: isRealtime()}
	if wall := end.when.Sub(s.when); wall > 0 {
		h.CPUShare = h.CPUUsed.Seconds() / wall.Seconds() / cores
	}
	pauses := newHistogram()
	if now := readPauses(); now != nil {
		for i := range min(len(s.pauses), len(end.pauses)) {
			// The upper edge of the bucket; the last one has none.
			edge := now.Buckets[min(i+1, len(now.Buckets)-2)]
			for range end.pauses[i] - s.pauses[i] {
				pauses.record(time.Duration(edge * float64(time.Second)))
			}
		}
	}
	h.GCPauses = pauses.quantiles()
	return h
}

// runDelay sums how long the process's threads have been ready without a core:
// the second number of each thread's schedstat. It is 0 where the kernel has none.
func runDelay() time.Duration {
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat")
	total := time.Duration(0)
	for _, path := range threads {
		text, err := os.ReadFile(path)
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 2 {
			continue // a thread that has ended meanwhile
		}
		ns, _ := strconv.ParseInt(fields[1], 10, 64)
		total += time.Duration(ns)
	}
	return total
}

// isRealtime tells whether the calling thread has real-time priority.
func isRealtime() bool {
	policy, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	return errno == 0 && (policy == unix.SCHED_RR || policy == unix.SCHED_FIFO)
}

// localPorts is how many local ports a connection can choose from; 0 = unknown.
func localPorts() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	var low, high int
	if _, err := fmt.Sscan(string(text), &low, &high); err != nil || high < low {
		return 0
	}
	return high - low + 1
}

// spareFiles are descriptors that a run needs besides its connections.
const spareFiles = 64

// raiseFileLimit makes sure that the plan's connections can all be open at once.
func raiseFileLimit(plan Plan) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return failure.Infra(fmt.Errorf("read the limit of open files: %w", err), "")
	}
	need := uint64(plan.MaxConnections + len(plan.Targets) + spareFiles)
	if limit.Cur >= need {
		return nil
	}
	if limit.Max < need {
		return failure.Input(fmt.Errorf("maxConnections: %d connections need %d open files, this process may open %d",
			plan.MaxConnections, need, limit.Max), "lower maxConnections or raise `ulimit -n`")
	}
	limit.Cur = limit.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return failure.Infra(fmt.Errorf("raise the limit of open files: %w", err), "raise `ulimit -n`")
	}
	return nil
}
