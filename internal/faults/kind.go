package faults

import (
	"fmt"
	"io"
	"slices"

	"secondhop/clusters"
	"secondhop/fixtures"
	"secondhop/internal/deploy"
	"secondhop/internal/failure"
)

// Kind is a word of the vocabulary of events and how to make it happen.
type Kind struct {
	fixtures.Term
	// New makes an event from a pointer to the term's parameters, or from nil for
	// the defaults. It does not touch the system; its error is about the input.
	New func(Env, any) (Event, error)
}

// Env is what an event may touch.
type Env struct {
	Lab     *deploy.Lab
	Cluster *clusters.Cluster
	// App receives the traffic; Others are the scenario's further workloads.
	App    *deploy.App
	Others []*deploy.App
	// Progress gets a line for what people wait for; nil for none.
	Progress io.Writer
}

// Kinds are all words, in the order of their names.
func Kinds() []Kind {
	return []Kind{
		agentSetKind(),
		apiserverStopKind(),
		appSetKind(),
		dnsSetKind(),
		ingressPatchKind(),
		ingressRecreateKind(),
		ingressReloadKind(),
		jobRunKind(),
		kubeproxyPauseKind(),
		kubeproxyRestartKind(),
		labelWriteKind(),
		linkSetKind(),
		nodePoweroffKind(),
		operatorCrashKind(),
		operatorDuplicateKind(),
		operatorPauseKind(),
		podDeleteKind(),
		podFailKind(),
		podKillKind(),
		podReadinessKind(),
		rolloutKind(),
		scaleKind(),
		servicePatchKind(),
		serviceRecreateKind(),
		watchDelayKind(),
	}
}

// Find is the word of that name.
func Find(name string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Terms are the words as the loader of scenarios wants them.
func Terms() []fixtures.Term {
	var terms []fixtures.Term
	for _, kind := range Kinds() {
		terms = append(terms, kind.Term)
	}
	return terms
}

// newKind makes a word whose parameters are a P; defaults are those of a scenario
// that sets none.
func newKind[P any](name, summary string, defaults P, event func(Env, P) (Event, error)) Kind {
	return Kind{
		Term: fixtures.Term{Name: name, Summary: summary, Parameters: defaults},
		New: func(env Env, with any) (Event, error) {
			parameters := defaults
			switch with := with.(type) {
			case nil:
			case *P:
				parameters = *with
			default:
				return nil, fmt.Errorf("event %s: parameters of type %T, want %T", name, with, &parameters)
			}
			if checked, ok := any(parameters).(interface{ Validate() error }); ok {
				if err := checked.Validate(); err != nil {
					return nil, failure.Inputf("event %s: %v", name, err)
				}
			}
			made, err := event(env, parameters)
			if err != nil {
				return nil, failure.Input(fmt.Errorf("event %s: %w", name, err), "")
			}
			return made, nil
		},
	}
}
