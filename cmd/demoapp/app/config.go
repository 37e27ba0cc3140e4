// Package app is the application that the lab balances traffic over: it answers
// bytes, says which pod and node it is, and starts, serves and stops well or
// badly, as its environment tells it and as it is told while it runs.
package app

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"secondhop/agent"
)

// Config is what the environment says. The variable is named at each field.
type Config struct {
	Port       int           // PORT, 8080: requests, /readyz, /count, /posts and /duplicates
	AgentPort  int           // AGENT_PORT, 8081: the agent's line
	SinkPort   int           // SINK_PORT, 0 for none: swallows what is sent to it
	Grace      time.Duration // GRACE, 6s: serving time after SIGTERM
	StartDelay time.Duration // START_DELAY, 0s: not ready for so long
	// ServeBeforeReady (SERVE_BEFORE_READY, false) opens the port at once and
	// answers 503 until the start delay is over; without it nothing listens before.
	ServeBeforeReady bool
	Pod              string // POD_NAME, sent as X-Pod
	Node             string // NODE_NAME, sent as X-Node
	Settings         Settings
}

// ConfigFrom reads the configuration through getenv; an unset variable means its
// default. The error names every variable that cannot be used.
func ConfigFrom(getenv func(string) string) (Config, error) {
	env := reader{getenv: getenv}
	c := Config{
		Port:             env.port("PORT", 8080),
		AgentPort:        env.port("AGENT_PORT", 8081),
		SinkPort:         env.port("SINK_PORT", 0),
		Grace:            env.duration("GRACE", agent.DefaultGrace),
		StartDelay:       env.duration("START_DELAY", 0),
		ServeBeforeReady: env.truth("SERVE_BEFORE_READY"),
		Pod:              getenv("POD_NAME"),
		Node:             getenv("NODE_NAME"),
		Settings:         env.settings(),
	}
	return c, errors.Join(env.problems...)
}

type reader struct {
	getenv   func(string) string
	problems []error
}

func (r *reader) refuse(name, value, want string) {
	r.problems = append(r.problems, fmt.Errorf("environment variable %s=%q: want %s", name, value, want))
}

func (r *reader) port(name string, fallback int) int {
	text := r.getenv(name)
	if text == "" {
		return fallback
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		r.refuse(name, text, "a port from 1 to 65535")
	}
	return port
}

func (r *reader) duration(name string, fallback time.Duration) time.Duration {
	text := r.getenv(name)
	if text == "" {
		return fallback
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		r.refuse(name, text, "a duration such as 6s, not negative")
	}
	return d
}

func (r *reader) truth(name string) bool {
	text := r.getenv(name)
	if text == "" {
		return false
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		r.refuse(name, text, "true or false")
	}
	return b
}

func (r *reader) settings() Settings {
	s := defaultSettings()
	for _, k := range table() {
		text := r.getenv(k.variable())
		if text == "" {
			continue
		}
		if err := k.set(&s, text); err != nil {
			r.problems = append(r.problems, fmt.Errorf("environment variable %s=%q: %w", k.variable(), text, err))
		}
	}
	if err := s.validate(); err != nil {
		r.problems = append(r.problems, fmt.Errorf("environment: %w", err))
	}
	return s
}
