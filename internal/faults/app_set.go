package faults

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// AppSet are the parameters of app_set. What is not set stays as it is.
type AppSet struct {
	Pods          PodChoice      `yaml:"pods" doc:"which pods"`
	Latency       *time.Duration `yaml:"latency" doc:"of each answer"`
	Capacity      *float64       `yaml:"capacity" doc:"requests per second and pod, 503 beyond; 0 for no bound"`
	ColdFor       *time.Duration `yaml:"coldFor" doc:"for so long from ready on, answers cost coldTimes as much"`
	ColdTimes     *float64       `yaml:"coldTimes" doc:"how many times the latency and the capacity an answer costs while cold"`
	PauseEvery    *time.Duration `yaml:"pauseEvery" doc:"every so often nothing is answered, at the same instants in all pods"`
	PauseFor      *time.Duration `yaml:"pauseFor" doc:"for so long nothing is answered"`
	KeepAlive     *time.Duration `yaml:"keepAlive" doc:"how long connections are kept"`
	Closing       *string        `yaml:"closing" doc:"how kept connections end: abrupt or announced"`
	Port          *string        `yaml:"port" doc:"open, or refuse: nothing listens, and connections end with their next answer"`
	OnSIGTERM     *string        `yaml:"onSigterm" doc:"graceful, or exit at once"`
	FailReadiness *bool          `yaml:"failReadinessOnSigterm" doc:"whether the readiness probe fails from SIGTERM on"`
}

// Validate says what is wrong with the parameters.
func (p AppSet) Validate() error {
	if len(p.values()) == 0 {
		return errors.New("it sets nothing: name latency, capacity, port or another behaviour")
	}
	for _, d := range []*time.Duration{p.Latency, p.ColdFor, p.PauseEvery, p.PauseFor, p.KeepAlive} {
		if d != nil && *d < 0 {
			return fmt.Errorf("%s is negative", *d)
		}
	}
	switch {
	case p.Capacity != nil && *p.Capacity < 0:
		return fmt.Errorf("capacity %g is negative", *p.Capacity)
	case p.ColdTimes != nil && *p.ColdTimes < 1:
		return fmt.Errorf("coldTimes %g is less than 1", *p.ColdTimes)
	}
	return errors.Join(
		oneOf("closing", p.Closing, "abrupt", "announced"),
		oneOf("port", p.Port, "open", "refuse"),
		oneOf("onSigterm", p.OnSIGTERM, "graceful", "exit"),
		p.Pods.Validate())
}

func oneOf(name string, value *string, choices ...string) error {
	if value == nil || slices.Contains(choices, *value) {
		return nil
	}
	return fmt.Errorf("%s %q: want one of %q", name, *value, choices)
}

// values are the settings under the application's own names.
func (p AppSet) values() []string {
	var v values
	set(&v, "latency", p.Latency)
	set(&v, "capacity", p.Capacity)
	set(&v, "cold-for", p.ColdFor)
	set(&v, "cold-times", p.ColdTimes)
	set(&v, "pause-every", p.PauseEvery)
	set(&v, "pause-for", p.PauseFor)
	set(&v, "keep-alive", p.KeepAlive)
	set(&v, "closing", p.Closing)
	set(&v, "app-port", p.Port)
	set(&v, "stop", p.OnSIGTERM)
	set(&v, "fail-readiness", p.FailReadiness)
	return v
}

func appSetKind() Kind {
	return newKind("app_set", "Changes how the application behaves in pods that run.", AppSet{},
		func(env Env, p AppSet) (Event, error) {
			pods, err := env.choose(p.Pods)
			if err != nil {
				return nil, err
			}
			return &settings{name: "application set", pods: pods, set: p.values()}, nil
		})
}

func atLeast(name string, value, least int) error {
	if value < least {
		return fmt.Errorf("%s %d: want %d or more", name, value, least)
	}
	return nil
}
