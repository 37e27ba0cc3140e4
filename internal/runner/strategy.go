package runner

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"secondhop/clusters"
	"secondhop/internal/deploy"
	"secondhop/internal/trial"
)

// Toward makes a load one that reaches the application as the strategy wants it:
// through the ingresses, or straight to the nodes' ports of its Service, of which
// the edge balancer then leaves out nodes whose health port says no.
func (l *Lab) Toward(ctx context.Context, app *deploy.App, strategy deploy.Strategy, load trial.Load) (trial.Load, error) {
	load.PerRequest = load.PerRequest || strategy.PerRequest
	if !strategy.Direct {
		return load, nil
	}
	service, err := l.Parts.Client.Typed.CoreV1().Services(app.Spec.Namespace).Get(ctx, app.Spec.Name, metav1.GetOptions{})
	if err != nil {
		return load, fmt.Errorf("look up the node port of %s: %w", app.Spec.Name, err)
	}
	load.Direct, load.Port, load.Weights = true, trial.Port(service.Spec.Ports[0].NodePort), map[string]int{}
	for _, worker := range l.Cluster.Workers() {
		weight, err := endpointWeight(ctx, worker, service.Spec.HealthCheckNodePort)
		if err != nil {
			return load, err
		}
		if weight > 0 && !strategy.Weighted {
			weight = 1
		}
		load.Weights[worker.Name] = weight
	}
	return load, nil
}

// endpointWeight is what a node's health port says about its ready local pods: 0 if
// it wants no traffic, else the value of the header that kube-proxy sends since 1.28.
func endpointWeight(ctx context.Context, node clusters.Node, port int32) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	url := fmt.Sprintf("http://%s:%d/", node.Address, port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("health port of %s: %w", node.Name, err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("health port of %s: %w", node.Name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, nil
	}
	weight, err := strconv.Atoi(answer.Header.Get("X-Load-Balancing-Endpoint-Weight"))
	if err != nil {
		return 0, fmt.Errorf("health port of %s: weight %q: %w", node.Name, answer.Header.Get("X-Load-Balancing-Endpoint-Weight"), err)
	}
	return weight, nil
}
