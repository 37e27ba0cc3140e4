package policy

import "fmt"

// ClusterIP leaves the choice to kube-proxy: one server, the Service itself.
func ClusterIP(_ Node, app App) (Choice, error) {
	if !app.ClusterIP.IsValid() {
		return Choice{}, fmt.Errorf("app %s/%s has no cluster IP", app.Namespace, app.Service)
	}
	return Choice{Service: app.ClusterIP}, nil
}
