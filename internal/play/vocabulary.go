// Package play plays scenarios: it takes every arm of a scenario to the lab, lets
// its events happen under its traffic, and judges what came of it.
package play

import (
	"secondhop/fixtures"
	"secondhop/internal/checks"
	"secondhop/internal/deploy"
	"secondhop/internal/faults"
)

// Vocabulary is every word that works.
func Vocabulary() fixtures.Vocabulary {
	v := fixtures.Vocabulary{Events: faults.Terms(), Checks: checks.Terms()}
	for _, strategy := range deploy.Strategies() {
		v.Strategies = append(v.Strategies, fixtures.Term{Name: strategy.Name, Summary: strategy.Summary})
	}
	return v
}
