package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"secondhop/fixtures"
	"secondhop/internal/checks"
	"secondhop/internal/deploy"
	"secondhop/internal/faults"
	"secondhop/internal/measure"
	"secondhop/internal/runner"
	"secondhop/internal/timeline"
	"secondhop/internal/trial"
)

// Player plays scenarios on a lab that has the shape that they ask for.
type Player struct {
	Lab *runner.Lab
	Out io.Writer // gets each arm's story and expectations
}

// Play carries out every arm of the scenario, one after the other, and puts what
// must come out into the lab's results. Its error is about the lab; what the
// system under test did wrong is a verdict. Before is how often it was played on
// this lab already.
func (p Player) Play(ctx context.Context, scenario *fixtures.Scenario, before int) (verdict measure.Verdict, err error) {
	if zones := scenario.Shape.Zones; len(zones) > 0 {
		if err := p.Lab.Zone(ctx, zones); err != nil {
			return measure.Inconclusive, err
		}
		defer func() { err = errors.Join(err, p.Lab.Whole(context.WithoutCancel(ctx))) }()
	}
	if link := scenario.Shape.Link; link != p.Lab.Cluster.Spec.Link {
		if err := p.Lab.ShapeLinks(ctx, link); err != nil {
			return measure.Inconclusive, err
		}
		defer func() { err = errors.Join(err, p.Lab.ShapeLinks(context.WithoutCancel(ctx), p.Lab.Cluster.Spec.Link)) }()
	}
	var played []checks.Arm
	verdict = measure.Pass
	for _, arm := range scenario.Arms() {
		in, err := scenario.For(arm)
		if err != nil {
			return measure.Inconclusive, err
		}
		assertions, one, err := p.arm(ctx, in, arm, before, played)
		if err != nil {
			return measure.Inconclusive, fmt.Errorf("%s, %s: %w", scenario.Metadata.Name, arm, err)
		}
		if one.Outcome != nil {
			played = append(played, one)
		}
		group := scenario.Metadata.Name + ": " + arm.String()
		if err := errors.Join(p.Lab.Results.Assert(group, assertions...), measure.PrintExpectations(p.Out, group, assertions)); err != nil {
			return measure.Inconclusive, err
		}
		verdict = worse(verdict, assertions)
	}
	return verdict, nil
}

// worse is the verdict of a scenario after some more assertions: a failure counts
// most, then what was not provoked, then what could not be told.
func worse(verdict measure.Verdict, assertions []measure.Assertion) measure.Verdict {
	rank := map[measure.Verdict]int{measure.Pass: 0, measure.Inconclusive: 1, measure.NotProvoked: 2, measure.Fail: 3}
	for _, a := range assertions {
		if rank[a.Verdict] > rank[verdict] {
			verdict = a.Verdict
		}
	}
	return verdict
}

// arm plays one arm and judges it.
func (p Player) arm(ctx context.Context, in *fixtures.Scenario, arm fixtures.Arm, before int, played []checks.Arm) ([]measure.Assertion, checks.Arm, error) {
	strategy, known := deploy.FindStrategy(arm.Strategy)
	if !known {
		return nil, checks.Arm{}, fmt.Errorf("there is no strategy %q", arm.Strategy)
	}
	app, err := p.Lab.Deploy(ctx, strategy.Apply(appOf(in)))
	if err != nil {
		return nil, checks.Arm{}, err
	}
	if strategy.PerRequest {
		if err := p.Lab.Parts.WaitProxies(ctx, app); err != nil {
			return nil, checks.Arm{}, err
		}
	}
	spec, err := p.trialOf(ctx, in, arm, app, strategy)
	if err != nil {
		return nil, checks.Arm{}, err
	}
	if before > 0 {
		spec.Name += fmt.Sprintf("-%d", before+1)
	}
	outcome, err := p.Lab.Run(ctx, app, spec)
	if missed := (*faults.NotProvokedError)(nil); errors.As(err, &missed) {
		return []measure.Assertion{notProvoked(missed)}, checks.Arm{}, nil
	}
	if err != nil {
		return nil, checks.Arm{}, err
	}
	if err := writeStory(p.Out, outcome.Outcome); err != nil {
		return nil, checks.Arm{}, err
	}
	one := checks.Arm{Strategy: arm.Strategy, Variant: arm.Variant, Model: strategy.Model, Outcome: outcome.Outcome}
	assertions, err := p.judge(ctx, in, one, played)
	return assertions, one, err
}

// notProvoked is the verdict on an arm whose event had no effect.
func notProvoked(missed *faults.NotProvokedError) measure.Assertion {
	a := measure.CannotTell("fault_provoked", missed.Event, missed.Error())
	a.Verdict = measure.NotProvoked
	return a
}

// judge is every check of an arm, after the one about the generator: when that does
// not hold, nobody knows what the system would have done.
func (p Player) judge(ctx context.Context, in *fixtures.Scenario, one checks.Arm, played []checks.Arm) ([]measure.Assertion, error) {
	generator := measure.Generator("generator", "client", one.Outcome.Summary)
	assertions := []measure.Assertion{generator}
	for _, check := range in.Checks {
		kind, known := checks.Find(check.Check)
		if !known {
			return nil, fmt.Errorf("there is no check %q", check.Check)
		}
		input := checks.Input{Arm: one, Phase: timeline.Phase(check.Phase), Window: one.Outcome.Whole(), Family: p.Lab.Family, Others: played}
		if check.Phase != "" {
			input.Window = one.Outcome.Window(input.Phase)
		}
		judged, err := kind.Judge(ctx, input, check.With)
		if err != nil {
			return nil, err
		}
		if check.Fails {
			judged = []measure.Assertion{checks.Inverted(input, check.Check, judged)}
		}
		assertions = append(assertions, judged...)
	}
	if generator.Verdict != measure.Pass {
		for i := range assertions {
			assertions[i].Verdict = measure.Inconclusive
		}
	}
	return assertions, nil
}

// trialOf is the load of an arm and its events.
func (p Player) trialOf(ctx context.Context, in *fixtures.Scenario, arm fixtures.Arm, app *deploy.App, strategy deploy.Strategy) (trial.Spec, error) {
	traffic := in.Traffic
	load, err := p.Lab.Toward(ctx, app, strategy, trial.Load{
		Rate: traffic.Rate, Answer: traffic.Answer, Method: traffic.Method, Body: traffic.Body, Timeout: traffic.Timeout,
		PerRequest: traffic.Connection == "per-request", Probe: (*trial.Probe)(in.EdgeBalancer.Probe),
	})
	if err != nil {
		return trial.Spec{}, err
	}
	if len(traffic.Skew) > 0 && load.Weights == nil {
		load.Weights = p.weights(traffic.Skew)
	}
	if len(in.Events) == 0 {
		load.Requests = uint64(traffic.Rate * traffic.Duration.Seconds())
	}
	spec := trial.Spec{Name: slug(in.Metadata.Name + " " + arm.String()), Load: load, Before: traffic.Before, After: traffic.After}
	env := faults.Env{Lab: p.Lab.Parts, Cluster: p.Lab.Cluster, App: app, Progress: p.Out}
	for _, event := range in.Events {
		kind, known := faults.Find(event.Do)
		if !known {
			return trial.Spec{}, fmt.Errorf("there is no event %q", event.Do)
		}
		spec.Events = append(spec.Events, trial.Planned{
			Name: event.Name, When: when(event.At), For: event.For, Repeat: event.Repeat, Every: event.Every,
			Make: func() (faults.Event, error) { return kind.New(env, event.With) },
		})
	}
	return spec, nil
}

// weights are the nodes' parts of a load that is uneven over zones, in hundredths.
func (p Player) weights(skew map[string]float64) map[string]int {
	weights := map[string]int{}
	for _, worker := range p.Lab.Cluster.Workers() {
		weight, named := skew[worker.Zone]
		if !named {
			weight = 1
		}
		weights[worker.Name] = int(math.Round(100 * weight))
	}
	return weights
}

// when draws what an instant leaves to chance.
func when(at fixtures.Instant) trial.When {
	delay := at.Delay
	if at.Random > 0 {
		delay += time.Duration(rand.Int64N(int64(at.Random)))
	}
	return trial.When{After: at.Event, Done: at.Done, Delay: delay}
}

// slug is a name as a folder's.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
}
