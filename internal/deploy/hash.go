package deploy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// hashOf is a short hash of a struct of plain values. It goes into pod templates:
// a change of anything that a pod is configured by must restart the pod, which
// Kubernetes does not do for a changed ConfigMap or argument elsewhere.
func hashOf(values any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("hash of %T: %v", values, err)) // a type that cannot be marshalled is a mistake here
	}
	return fmt.Sprintf("%.6x", sha256.Sum256(text))
}
