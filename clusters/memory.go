package clusters

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"secondhop/internal/failure"
	"secondhop/internal/units"
)

// What a node needs when pods and load are on it, measured and rounded up: the
// control plane with etcd and the API server, a worker with kubelet, containerd,
// kube-proxy, HAProxy and a few pods.
const (
	controlPlaneMemory = 1536 * units.Mebibyte
	workerMemory       = 400 * units.Mebibyte
)

// checkMemory refuses more workers than fit into what is available.
func checkMemory(workers int) error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("see how much memory there is: %w", err)
	}
	available, err := parseAvailable(string(text))
	if err != nil {
		return err
	}
	return judgeMemory(workers, available)
}

func judgeMemory(workers int, available units.Bytes) error {
	fit := int((available - controlPlaneMemory) / workerMemory)
	if workers <= fit {
		return nil
	}
	need := controlPlaneMemory + units.Bytes(workers)*workerMemory
	cause := fmt.Errorf("%d workers need about %s of memory, and %s are available", workers, need, available)
	if fit < 1 {
		return failure.Infra(cause, "end other programs: even one worker needs "+(controlPlaneMemory+workerMemory).String())
	}
	return failure.Input(cause, fmt.Sprintf("use at most --workers %d", fit))
}

// parseAvailable finds the kernel's estimate of what can be used without swapping.
func parseAvailable(meminfo string) (units.Bytes, error) {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemAvailable:" && fields[2] == "kB" {
			kibibytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("see how much memory there is: %w", err)
			}
			return units.Bytes(kibibytes) * units.Kibibyte, nil
		}
	}
	return 0, errors.New("see how much memory there is: /proc/meminfo has no MemAvailable")
}
