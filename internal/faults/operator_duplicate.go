package faults

import (
	"secondhop/fixtures/manifests"
	"secondhop/internal/kube"
)

// OperatorDuplicate are the parameters of operator_duplicate.
type OperatorDuplicate struct {
	Replicas int `yaml:"replicas" doc:"ushers in all, of which one leads at a time"`
}

// Validate says what is wrong with the parameters.
func (p OperatorDuplicate) Validate() error { return atLeast("replicas", p.Replicas, 2) }

func operatorDuplicateKind() Kind {
	return newKind("operator_duplicate", "Runs a second usher beside the first, for the lease to tell them apart.", OperatorDuplicate{Replicas: 2},
		func(env Env, p OperatorDuplicate) (Event, error) {
			return newScaling("second usher", env.Lab.Client, manifests.LabNamespace, map[kube.Workload]int{usherWorkload(): p.Replicas}), nil
		})
}
