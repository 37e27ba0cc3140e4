package links

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"secondhop/internal/wait"
)

// Quiet is the share of idle processor time at which a lab that has just been made
// counts as settled.
const Quiet = 0.6

// AwaitQuiet waits until the processors were idle for a share of a whole second. A
// lab that still starts programs stalls a transfer for long enough to be seen.
func AwaitQuiet(ctx context.Context, share float64) error {
	before, err := readProcessorTimes()
	if err != nil {
		return err
	}
	return wait.Until(ctx, "the machine to be quiet", time.Second, func(context.Context) error {
		now, err := readProcessorTimes()
		if err != nil {
			return err
		}
		idle := now.idleSince(before)
		if before = now; idle < share {
			return fmt.Errorf("it is %.0f %% idle", 100*idle)
		}
		return nil
	})
}

// processorTimes are the sums over all processors since boot, in clock ticks.
type processorTimes struct{ idle, total uint64 }

func readProcessorTimes() (processorTimes, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTimes{}, fmt.Errorf("read processor times: %w", err)
	}
	return parseProcessorTimes(string(stat))
}

// parseProcessorTimes reads the first line of /proc/stat, "cpu user nice system
// idle iowait irq softirq steal guest guest_nice". Guest time is in user already
// and is left out; time that waits for a disk is idle.
func parseProcessorTimes(stat string) (processorTimes, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return processorTimes{}, fmt.Errorf("read processor times: unexpected line %q", line)
	}
	var times processorTimes
	for i, field := range fields[1:9] {
		value, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return processorTimes{}, fmt.Errorf("read processor times: %w", err)
		}
		times.total += value
		if i == 3 || i == 4 {
			times.idle += value
		}
	}
	return times, nil
}

// idleSince is the idle share of all processors since earlier, 0 to 1.
func (t processorTimes) idleSince(earlier processorTimes) float64 {
	if t.total <= earlier.total {
		return 0
	}
	return float64(t.idle-earlier.idle) / float64(t.total-earlier.total)
}
