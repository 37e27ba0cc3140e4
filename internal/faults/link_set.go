package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"secondhop/clusters/links"
	"secondhop/internal/units"
)

// LinkSet are the parameters of link_set.
type LinkSet struct {
	Nodes []int         `yaml:"nodes" doc:"numbers of the workers, from 1; none means all"`
	Rate  units.BitRate `yaml:"rate" doc:"rate of each link, both directions"`
}

// Validate says what is wrong with the parameters.
func (p LinkSet) Validate() error {
	if p.Rate == 0 {
		return errors.New("rate: say which, such as 50mbit")
	}
	return nil
}

func linkSetKind() Kind {
	return newKind("link_set", "Shapes workers' links to another rate, until it is undone.", LinkSet{},
		func(env Env, p LinkSet) (Event, error) {
			nodes, err := env.workerNames(p.Nodes)
			if err != nil {
				return nil, err
			}
			return &linkRate{nodes: nodes, rate: p.Rate, former: env.Cluster.Spec.Link}, nil
		})
}

type linkRate struct {
	nodes        []string
	rate, former units.BitRate

	applied time.Time
}

func (l *linkRate) Name() string {
	return fmt.Sprintf("links of %s at %s", strings.Join(l.nodes, ", "), l.rate)
}

// Apply returns when the rate was read back from every link.
func (l *linkRate) Apply(ctx context.Context) error {
	l.applied = time.Now()
	if err := links.Shape(ctx, links.Both(l.rate), l.nodes...); err != nil {
		return fmt.Errorf("%s: %w", l.Name(), err)
	}
	return nil
}

// Confirm has nothing left to see.
func (l *linkRate) Confirm(context.Context) (Outcome, error) {
	return Outcome{l.applied, time.Now(), "read back"}, nil
}

// Undo gives the links the rate of the lab.
func (l *linkRate) Undo(ctx context.Context) error {
	return links.Shape(ctx, links.Both(l.former), l.nodes...)
}
