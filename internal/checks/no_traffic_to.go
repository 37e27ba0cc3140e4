package checks

import (
	"context"
	"fmt"
	"time"

	"secondhop/internal/measure"
	"secondhop/loadgen"
)

// Instants of a pod's life from which it may get no more traffic.
const (
	fromEvent    = "event"    // the event of since, or the start of the window
	fromDeleting = "deleting" // it was told to end
	fromFinished = "finished" // its containers had ended
)

// NoTrafficTo are the parameters of no_traffic_to.
type NoTrafficTo struct {
	Pods   PodChoice     `yaml:"pods" doc:"which pods"`
	From   string        `yaml:"from" doc:"event: from the event of since; deleting: from when each pod was told to end; finished: from when its containers had ended"`
	Since  string        `yaml:"since" doc:"name of an event, with .done its end; empty means the start of the phase"`
	Delay  time.Duration `yaml:"delay" doc:"so long after that"`
	AtMost int64         `yaml:"atMost" doc:"requests that are allowed"`
}

// Validate says what is wrong with the parameters.
func (p NoTrafficTo) Validate() error {
	switch {
	case p.From != fromEvent && p.From != fromDeleting && p.From != fromFinished:
		return fmt.Errorf("from %q: want %s, %s or %s", p.From, fromEvent, fromDeleting, fromFinished)
	case p.AtMost < 0 || p.Delay < 0:
		return fmt.Errorf("atMost %d and delay %s must not be negative", p.AtMost, p.Delay)
	}
	return p.Pods.Validate()
}

func noTrafficToKind() Kind {
	return newKind("no_traffic_to", "From an instant on, no request that was sent later is answered by the named pods.",
		NoTrafficTo{Pods: PodChoice{Which: podsDeleted}, From: fromDeleting},
		func(_ context.Context, in Input, p NoTrafficTo) ([]measure.Assertion, error) {
			subject := in.of(p.Pods.String())
			m, err := in.moment(p.Since)
			if err != nil {
				return nil, err
			}
			if m.never {
				return m.notProvoked("no_traffic_to", subject), nil
			}
			pods, err := in.pods(p.Pods)
			if err != nil {
				return nil, err
			}
			shut := p.shut(in, pods, m)
			if len(shut) == 0 {
				return cannotTell("no_traffic_to", subject, "no such pod came to that instant"), nil
			}
			a, err := p.judge(in, subject, shut)
			return []measure.Assertion{a}, err
		})
}

// shut is from when on each pod may get nothing.
func (p NoTrafficTo) shut(in Input, pods []podLife, m moment) map[string]time.Duration {
	shut := map[string]time.Duration{}
	for _, pod := range pods {
		wall := pod.Deleting
		if p.From == fromFinished {
			wall = pod.Finished
		}
		switch {
		case p.From == fromEvent:
			shut[pod.Name] = m.at + p.Delay
		case !wall.IsZero():
			shut[pod.Name] = in.Outcome.Clock().FromWall(wall) + p.Delay
		}
	}
	return shut
}

// judge counts by the instant at which a request was really sent: one that was under
// way before is the pod's to finish.
func (p NoTrafficTo) judge(in Input, subject string, shut map[string]time.Duration) (measure.Assertion, error) {
	served, looked := int64(0), int64(0)
	latest := ""
	err := in.Outcome.Requests.Each(func(r loadgen.Record) error {
		if !in.Window.Contains(r.Scheduled) {
			return nil
		}
		looked++
		if from, ours := shut[r.Pod]; ours && r.Sent >= from {
			served++
			latest = fmt.Sprintf("request %d, sent to %s %s after, answered by %s", r.ID, r.Node, (r.Sent - from).Round(time.Millisecond), r.Pod)
		}
		return nil
	})
	a := measure.AtMost("no_traffic_to", subject, "requests", float64(served), float64(p.AtMost))
	a.N, a.Detail = looked, latest
	if looked == 0 {
		a.Verdict, a.Detail = measure.Inconclusive, "no request was sent"
	}
	return a, err
}
