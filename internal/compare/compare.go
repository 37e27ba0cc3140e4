// Package compare runs strategies side by side: the same pods, the same load, and
// beside every measured share what arithmetic says it must be.
package compare

import (
	"context"
	"fmt"
	"time"

	"secondhop/internal/deploy"
	"secondhop/internal/locality"
	"secondhop/internal/measure"
	"secondhop/internal/runner"
	"secondhop/internal/trial"
)

// Placement is where the pods are, and in which zone each node is.
type Placement struct {
	Name  string
	Pods  []int
	Zones []string
}

// Placements are those that there are expected values for: uneven, even, one poor
// node in a rich cluster, and the seven nodes of a public example; and a small one
// that fits the lab of make e2e.
func Placements() []Placement {
	letters := func(text string) []string {
		var zones []string
		for _, zone := range text {
			zones = append(zones, string(zone))
		}
		return zones
	}
	return []Placement{
		{"A", []int{4, 4, 2, 1, 1, 0}, letters("aabbcc")},
		{"B", []int{2, 2, 2, 2, 2, 2}, letters("aabbcc")},
		{"C", []int{4, 4, 4, 4, 1}, letters("aabbc")},
		{"D", []int{3, 3, 1, 1, 1, 1, 1}, letters("aabbccc")},
		{"small", []int{4, 4, 4, 1}, letters("aabb")},
	}
}

// Options say what is compared.
type Options struct {
	Strategies []deploy.Strategy
	Placements []Placement
	// Requests are the least of each strategy on each placement: a cell whose tests
	// would have too little power with them gets more.
	Requests uint64
}

// The rates leave two cores that carry the whole lab some air. A connection for
// each request costs about twice as much as a request on one that is kept.
const (
	keptRate       = 1400
	perRequestRate = 700
)

// impatience is how long a request may wait that no pod is there for: long enough
// for one retry of the ingress.
const impatience = 3 * time.Second

// negligible is what is left of sums of fractions that are 0.
const negligible = 1e-9

// Run compares, and hands every cell on as soon as it is known.
func Run(ctx context.Context, lab *runner.Lab, options Options, take func(Cell) error) (err error) {
	defer func() {
		if whole := lab.Whole(context.WithoutCancel(ctx)); err == nil {
			err = whole
		}
	}()
	for _, placement := range options.Placements {
		if err := lab.Zone(ctx, placement.Zones); err != nil {
			return err
		}
		app, err := lab.Deploy(ctx, deploy.AppSpec{Placement: placement.Pods})
		if err != nil {
			return err
		}
		for _, strategy := range options.Strategies {
			cell, err := one(ctx, lab, app, strategy, placement, options.Requests)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", strategy.Name, placement.Name, err)
			}
			if err := take(cell); err != nil {
				return err
			}
		}
	}
	return nil
}

// one measures a strategy on the pods that are there.
func one(ctx context.Context, lab *runner.Lab, app *deploy.App, strategy deploy.Strategy, placement Placement, requests uint64) (Cell, error) {
	var err error
	if strategy.Agent != "" {
		app, err = lab.Deploy(ctx, strategy.Apply(deploy.AppSpec{Placement: placement.Pods}))
	} else {
		app, err = lab.Restyle(ctx, app, strategy)
	}
	if err != nil {
		return Cell{}, err
	}
	planned, err := locality.Expect(strategy.Model, locality.Placement{Pods: placement.Pods, Zones: placement.Zones}, locality.Options{})
	if err != nil {
		return Cell{}, err
	}
	load := trial.Load{Rate: keptRate, Requests: max(requests, enough(lab.Family, planned)), Timeout: impatience}
	if strategy.PerRequest {
		load.Rate = perRequestRate
	}
	if load, err = lab.Toward(ctx, app, strategy, load); err != nil {
		return Cell{}, err
	}
	outcome, err := lab.Count(ctx, app, trial.Spec{Name: "compare-" + placement.Name + "-" + strategy.Name, Load: load})
	if err != nil {
		return Cell{}, err
	}
	expected, err := locality.Expect(strategy.Model, outcome.Placement, locality.Options{})
	if err != nil {
		return Cell{}, err
	}
	if expected.Drop < negligible {
		expected.Drop = 0
	}
	return cellOf(strategy, placement, outcome.Outcome, expected, lab.Family), nil
}

// testsPerCell is how many statistical tests a cell makes: drops, local and zone
// share, and the pods, of which there are at most 17.
const testsPerCell = 20

// Family is the budget of a comparison: a correct system is red in fewer than 1 of
// 1,000 of them; a share that is off by 4 points is caught, and so is a pod that
// gets half as much as it should.
func Family(options Options) measure.Family {
	family := measure.DefaultFamily()
	family.Tests = testsPerCell * len(options.Strategies) * len(options.Placements)
	family.ShareOff, family.PodOff = 0.04, 0.5
	return family
}
