package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"secondhop/internal/measure"
)

// The elements of JUnit XML that consumers read. Times are seconds.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Package    string          `xml:"package,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string      `xml:"name,attr"`
	ClassName string      `xml:"classname,attr"`
	Time      string      `xml:"time,attr"`
	Failure   *junitFault `xml:"failure"`
	Error     *junitFault `xml:"error"`
	Output    string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the result as JUnit XML: a suite per test with a case per
// assertion, after a suite Infrastructure that always exists and holds what kept
// the run from being made. Failed assertions are failures; those that could not
// tell are errors, so that no consumer takes them for passed.
func (r Result) WriteJUnit(w io.Writer) error {
	suites := junitSuites{Name: "secondhop", Suites: []junitSuite{r.infrastructure()}}
	for _, g := range r.Groups {
		suites.Suites = append(suites.Suites, r.suite(g))
	}
	for _, s := range suites.Suites {
		suites.Tests += s.Tests
		suites.Failures += s.Failures
		suites.Errors += s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suites); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r Result) newSuite(name string) junitSuite {
	return junitSuite{
		Name: name, Package: "secondhop", Time: "0.000",
		Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"),
	}
}

func (s *junitSuite) add(c junitCase) {
	c.ClassName, c.Time = s.Name, first(c.Time, "0.000")
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

// infrastructure is the suite of what has to work before anything is measured.
func (r Result) infrastructure() junitSuite {
	s := r.newSuite("Infrastructure")
	s.Properties = r.Environment.properties()
	seconds := 0.0
	for _, p := range r.Phases {
		seconds += p.Seconds
		s.add(junitCase{Name: "phase " + p.Name, Time: strconv.FormatFloat(p.Seconds, 'f', 3, 64)})
	}
	s.Time = strconv.FormatFloat(seconds, 'f', 3, 64)
	for _, p := range r.Problems {
		s.add(junitCase{Name: p.Stage, Error: &junitFault{Message: p.Error, Type: "infrastructure", Text: p.Cure}})
	}
	completed := junitCase{Name: "run completed"}
	if !r.Finished {
		completed.Error = &junitFault{Message: "the run did not finish", Type: "infrastructure"}
	}
	s.add(completed)
	return s
}

func (r Result) suite(g Group) junitSuite {
	s := r.newSuite(g.Name)
	for _, a := range g.Assertions {
		c := junitCase{Name: a.ID + " " + a.Subject}
		switch a.Verdict {
		case measure.Pass:
			c.Output = printable(a.String())
		case measure.Fail:
			c.Failure = &junitFault{Message: printable(a.String()), Type: a.ID}
		default:
			c.Error = &junitFault{Message: printable(a.String()), Type: string(a.Verdict)}
		}
		s.add(c)
	}
	return s
}

// properties are the facts about the run that are known.
func (e Environment) properties() []junitProperty {
	var out []junitProperty
	add := func(name string, value any, known bool) {
		if known {
			out = append(out, junitProperty{name, printable(fmt.Sprint(value))})
		}
	}
	add("cpus", e.CPUs, e.CPUs > 0)
	add("memory", e.Memory, e.Memory > 0)
	for _, p := range [][2]string{
		{"arch", e.Arch}, {"kernel", e.Kernel}, {"docker", e.Docker}, {"haproxy", e.HAProxy},
		{"kubernetes", e.Kubernetes}, {"image", e.Image}, {"image digest", e.ImageDigest}, {"image source", e.ImageSource},
		{"proxy mode", e.ProxyMode}, {"congestion control", e.CongestionControl}, {"git commit", e.GitCommit}, {"command", e.Command},
	} {
		add(p[0], p[1], p[1] != "")
	}
	add("workers", e.Workers, e.Workers > 0)
	add("zones", e.Zones, e.Zones > 0)
	add("link", e.Link, e.Link > 0)
	add("seed", e.Seed, e.Seed != 0)
	add("git dirty", e.GitDirty, e.GitDirty)
	return out
}

// printable replaces what XML 1.0 cannot hold, even escaped.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' {
			return '?'
		}
		return c
	}, text)
}

// elapsed is how long the run took, from its first to its last addition.
func (r Result) elapsed() time.Duration { return r.Updated.Sub(r.Started).Round(time.Second) }
