package deploy

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"secondhop/internal/wait"
)

// ingressPorts are where every edge answers: with each Ingress's policy, and the
// same with the policy endpoints.
var ingressPorts = [...]string{"80", "81"}

// ReadyPath answers 200 on the ingress ports while an edge serves.
const ReadyPath = "/-/ready"

const ingressPeriod = 500 * time.Millisecond

// WaitIngress waits until every worker's edge answers on its ports. It is asked
// from the control plane, over the lab's network, as a client would.
func (l *Lab) WaitIngress(ctx context.Context) error {
	return wait.Until(ctx, "every ingress to answer "+ReadyPath, ingressPeriod, func(ctx context.Context) error {
		var urls []string
		for _, worker := range l.Cluster.Workers() {
			for _, port := range ingressPorts {
				urls = append(urls, "http://"+net.JoinHostPort(worker.Address.String(), port)+ReadyPath)
			}
		}
		argv := []string{"curl", "--silent", "--parallel", "--max-time", "2", "--write-out", `%{http_code} %{url_effective}\n`}
		for _, url := range urls {
			argv = append(argv, "--output", "/dev/null", url)
		}
		// curl fails when one of them does; what it wrote says which, and better.
		answers, err := l.Cluster.Exec(ctx, l.Cluster.ControlPlane().Name, nil, argv...)
		return ingressMiss(urls, answers, err)
	})
}

// ingressMiss reads lines of "status url" and names what does not answer 200.
func ingressMiss(urls []string, answers string, failed error) error {
	status := map[string]string{}
	for line := range strings.Lines(answers) {
		if code, url, found := strings.Cut(strings.TrimSpace(line), " "); found {
			status[url] = code
		}
	}
	if len(status) == 0 && failed != nil {
		return failed
	}
	var missing []string
	for _, url := range urls {
		switch code := status[url]; code {
		case "200":
		case "", "000":
			missing = append(missing, url+" does not answer")
		default:
			missing = append(missing, url+" answers "+code)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s", strings.Join(missing, ", "))
	}
	return nil
}
