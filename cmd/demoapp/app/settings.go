package app

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"secondhop/agent"
)

// Choices of settings.
const (
	StopGraceful = "graceful"
	StopExit     = "exit"

	PortOpen   = "open"
	PortRefuse = "refuse"

	ClosingAbrupt    = "abrupt"
	ClosingAnnounced = "announced"

	AgentNormal      = "normal"
	AgentNeverReady  = "never-ready"  // 0% for ever
	AgentAlwaysReady = "always-ready" // all of the weight, also while starting and stopping
	AgentWeightOnly  = "weight-only"  // a weight as it should be, without the words up and ready
	AgentDown        = "down"
	AgentDrain       = "drain"
	AgentMaint       = "maint"
	AgentUnknown     = "unknown" // a word that HAProxy does not know
	AgentOff         = "off"     // nothing listens
)

func agentModes() []string {
	return []string{
		AgentNormal, AgentNeverReady, AgentAlwaysReady, AgentWeightOnly, AgentDown, AgentDrain, AgentMaint, AgentUnknown, AgentOff,
	}
}

// Settings are what can be changed while the application runs. Each has a name,
// in table, and a variable of the environment: cold-for is COLD_FOR.
type Settings struct {
	Latency  time.Duration // of each answer
	Capacity float64       // requests per second, 503 beyond; 0 for no bound
	// While cold, for ColdFor from ready on, each answer costs ColdTimes as much
	// of Latency and of Capacity.
	ColdFor   time.Duration
	ColdTimes float64
	// PauseEvery and PauseFor stop all answers at the same instants in every pod:
	// when the time of day is less than PauseFor past a multiple of PauseEvery.
	PauseEvery, PauseFor time.Duration
	// KeepAlive bounds connections. Abrupt closing ends one that was idle for so
	// long, without a word. Announced closing ends one so old with an answer that
	// says so, as does every answer after SIGTERM. 0: idle ones end after 5 minutes.
	KeepAlive     time.Duration
	Closing       string
	AppPort       string // refuse: nothing listens, and connections end with their next answer
	Stop          string // exit ends the process at SIGTERM
	FailReadiness bool   // /readyz is 503 from SIGTERM on
	Ready         bool   // false: /readyz is 503, all else goes on
	Agent         string // what polls are answered; off: nothing listens
	Weight        int    // percent, for agents that say one
}

func defaultSettings() Settings {
	return Settings{
		ColdTimes: 1, Closing: ClosingAbrupt, AppPort: PortOpen, Stop: StopGraceful, Ready: true, Agent: AgentNormal, Weight: 100,
	}
}

// setting is one field of Settings as text.
type setting struct {
	name string
	get  func(*Settings) string
	set  func(*Settings, string) error
}

func (s setting) variable() string {
	return strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

func table() []setting {
	return []setting{
		durationSetting("latency", func(s *Settings) *time.Duration { return &s.Latency }),
		numberSetting("capacity", 0, func(s *Settings) *float64 { return &s.Capacity }),
		durationSetting("cold-for", func(s *Settings) *time.Duration { return &s.ColdFor }),
		numberSetting("cold-times", 1, func(s *Settings) *float64 { return &s.ColdTimes }),
		durationSetting("pause-every", func(s *Settings) *time.Duration { return &s.PauseEvery }),
		durationSetting("pause-for", func(s *Settings) *time.Duration { return &s.PauseFor }),
		durationSetting("keep-alive", func(s *Settings) *time.Duration { return &s.KeepAlive }),
		choiceSetting("closing", func(s *Settings) *string { return &s.Closing }, ClosingAbrupt, ClosingAnnounced),
		choiceSetting("app-port", func(s *Settings) *string { return &s.AppPort }, PortOpen, PortRefuse),
		choiceSetting("stop", func(s *Settings) *string { return &s.Stop }, StopGraceful, StopExit),
		truthSetting("fail-readiness", func(s *Settings) *bool { return &s.FailReadiness }),
		truthSetting("ready", func(s *Settings) *bool { return &s.Ready }),
		choiceSetting("agent", func(s *Settings) *string { return &s.Agent }, agentModes()...),
		weightSetting("weight", func(s *Settings) *int { return &s.Weight }),
	}
}

// SettingNames are the names that Set knows.
func SettingNames() []string {
	var names []string
	for _, s := range table() {
		names = append(names, s.name)
	}
	return names
}

// With is a copy of s with values changed, given as "name=value". The error names
// every one that cannot be used.
func (s Settings) With(changes []string) (Settings, error) {
	known := table()
	var problems []error
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		i := slices.IndexFunc(known, func(k setting) bool { return k.name == name })
		if i < 0 {
			problems = append(problems, fmt.Errorf("setting %q: want one of %q", name, SettingNames()))
			continue
		}
		if err := known[i].set(&s, value); err != nil {
			problems = append(problems, fmt.Errorf("setting %s=%q: %w", name, value, err))
		}
	}
	return s, errors.Join(append(problems, s.validate())...)
}

func (s Settings) validate() error {
	if s.PauseFor > 0 && s.PauseFor >= s.PauseEvery {
		return fmt.Errorf("a pause of %s every %s leaves no time to answer", s.PauseFor, s.PauseEvery)
	}
	return nil
}

// Lines are all settings as "name=value", which With takes.
func (s Settings) Lines() []string {
	var lines []string
	for _, k := range table() {
		lines = append(lines, k.name+"="+k.get(&s))
	}
	return lines
}

func durationSetting(name string, at func(*Settings) *time.Duration) setting {
	return setting{name, func(s *Settings) string { return at(s).String() }, func(s *Settings, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return errors.New("want a duration such as 6s, not negative")
		}
		*at(s) = d
		return nil
	}}
}

func numberSetting(name string, least float64, at func(*Settings) *float64) setting {
	return setting{name, func(s *Settings) string { return strconv.FormatFloat(*at(s), 'g', -1, 64) }, func(s *Settings, text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || x < least || x > math.MaxInt32 {
			return fmt.Errorf("want a number from %g on", least)
		}
		*at(s) = x
		return nil
	}}
}

func choiceSetting(name string, at func(*Settings) *string, choices ...string) setting {
	return setting{name, func(s *Settings) string { return *at(s) }, func(s *Settings, text string) error {
		if !slices.Contains(choices, text) {
			return fmt.Errorf("want one of %q", choices)
		}
		*at(s) = text
		return nil
	}}
}

func truthSetting(name string, at func(*Settings) *bool) setting {
	return setting{name, func(s *Settings) string { return strconv.FormatBool(*at(s)) }, func(s *Settings, text string) error {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("want true or false")
		}
		*at(s) = b
		return nil
	}}
}

func weightSetting(name string, at func(*Settings) *int) setting {
	return setting{name, func(s *Settings) string { return strconv.Itoa(*at(s)) }, func(s *Settings, text string) error {
		percent, err := strconv.Atoi(text)
		if err != nil || percent < 0 || percent > agent.MaxWeight {
			return fmt.Errorf("want a percentage from 0 to %d", agent.MaxWeight)
		}
		*at(s) = percent
		return nil
	}}
}
