package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Facts are settings of a node that change what is measured.
type Facts struct {
	ProxyMode         string `json:"proxy_mode"`         // as the running kube-proxy says
	CongestionControl string `json:"congestion_control"` // of TCP, for what the node itself sends
	Kernel            string `json:"kernel"`
}

// factsScript prints one fact a line. kube-proxy tells its mode on its metrics
// port: a ConfigMap would only say what was asked for.
const factsScript = `curl --silent --show-error --fail --max-time 5 http://127.0.0.1:10249/proxyMode && echo &&
cat /proc/sys/net/ipv4/tcp_congestion_control /proc/sys/kernel/osrelease`

// ReadFacts asks every given node.
func ReadFacts(ctx context.Context, exec Nodes, nodes []string) (map[string]Facts, error) {
	return gather(ctx, nodes, func(ctx context.Context, node string) (Facts, error) {
		text, err := exec.Exec(ctx, node, nil, "sh", "-c", factsScript)
		if err != nil {
			return Facts{}, fmt.Errorf("read settings of %s: %w", node, err)
		}
		facts, err := parseFacts(text)
		if err != nil {
			return Facts{}, fmt.Errorf("read settings of %s: %w", node, err)
		}
		return facts, nil
	})
}

func parseFacts(text string) (Facts, error) {
	lines := strings.Fields(text)
	if len(lines) != 3 {
		return Facts{}, errors.New("want kube-proxy's mode, the congestion control and the kernel, got " + strings.Join(lines, " "))
	}
	return Facts{ProxyMode: lines[0], CongestionControl: lines[1], Kernel: lines[2]}, nil
}
