package checks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"secondhop/internal/measure"
	"secondhop/loadgen/wire"
)

// classes are the ways in which a request can fail; "status" is any status of 400
// or more.
func classes() []string {
	return []string{
		string(wire.Connect), string(wire.Timeout), string(wire.Reset), string(wire.EOF), string(wire.EOFReused),
		string(wire.Truncated), string(wire.Malformed), string(wire.Unframed), string(wire.Status), string(wire.NoTarget), string(wire.Limit),
	}
}

func validClasses(names []string) error {
	for _, name := range names {
		if slices.Contains(classes(), name) || statusWord(name) {
			continue
		}
		return fmt.Errorf("class %q: want one of %s, or a status such as 503 or 5xx", name, strings.Join(classes(), ", "))
	}
	return nil
}

// statusWord reports whether a word stands for statuses: 503, 4xx or 5xx.
func statusWord(word string) bool {
	if word == "4xx" || word == "5xx" {
		return true
	}
	status, err := strconv.Atoi(word)
	return err == nil && status >= 400 && status < 600
}

// matches reports whether a failure is of one of the classes; no classes are all.
func matches(f measure.Failure, words []string) bool {
	if len(words) == 0 {
		return true
	}
	status := strconv.Itoa(f.Status)
	return slices.ContainsFunc(words, func(word string) bool {
		switch {
		case word == string(f.Class):
			return true
		case f.Class != wire.Status:
			return false
		}
		return word == status || word == status[:1]+"xx"
	})
}

// failures are the failed requests that a check looks at.
type failures struct {
	what             string // in words
	failed, requests int64
	own              int64 // of them, those that the generator made itself
	story            string
}

// failures counts the failed requests of the window.
func (in Input) failures(words []string, numbers []int) (failures, error) {
	tally, err := in.tally()
	if err != nil {
		return failures{}, err
	}
	nodes, err := in.nodes(numbers)
	if err != nil {
		return failures{}, err
	}
	f := failures{what: "failures"}
	if len(words) > 0 {
		f.what = strings.Join(words, ", ") + " failures"
	}
	if len(numbers) > 0 {
		f.what += " at " + strings.Join(nodes, ", ")
	}
	counted := map[measure.Failure]int64{}
	for failure, n := range tally.Failures {
		if !matches(failure, words) || len(numbers) > 0 && !slices.Contains(nodes, failure.Node) {
			continue
		}
		f.failed += n
		counted[failure] += n
		if failure.Own() {
			f.own += n
		}
	}
	f.requests = tally.Requests
	if len(numbers) > 0 {
		f.requests = 0
		for _, node := range nodes {
			f.requests += tally.Targets[node]
		}
	}
	f.story = measure.FailureText(counted)
	return f, nil
}

// told is the assertion, unless nothing can be told from the failures.
func (f failures) told(a measure.Assertion) measure.Assertion {
	switch {
	case f.requests == 0:
		a.Verdict, a.Detail = measure.Inconclusive, "no request was sent"
	case a.Failed() && f.failed == f.own:
		a.Verdict, a.Detail = measure.Inconclusive, "the generator failed, not the system: "+a.Detail
	}
	return a
}

// joined puts parts of a detail together.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}
