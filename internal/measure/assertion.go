package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Verdict is what came of an assertion.
type Verdict string

// The verdicts. Only Fail is the product's failure; Inconclusive and NotProvoked
// say that the run could not tell.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive"
	// NotProvoked is a fault that was applied and had no effect, so that what was
	// to be seen under it could not be seen.
	NotProvoked Verdict = "not provoked"
)

// Assertion is one expectation and what was observed.
type Assertion struct {
	// ID names the kind of expectation, such as "local-share"; Subject says of what.
	ID, Subject string
	// Unit is what the numbers are: share, requests, bytes, seconds, points, ratio, count.
	Unit string
	// Observed must lie in [Low, High]; a bound that does not exist is infinite.
	// Expected is the value that a correct system has in the long run; NaN if there is none.
	Observed, Expected, Low, High float64
	// N is the number of observations behind Observed; 0 where that means nothing.
	N int64
	// Interval is the 95 % confidence interval of a share; nil for other values.
	Interval *Interval
	// Tests is how many statistical tests of the family it used up.
	Tests   int
	Verdict Verdict
	// Detail says in words what the numbers do not: power, bounds, classes of failures.
	Detail string
}

// assertionJSON is the form of an Assertion in a file; what is not a number is null.
type assertionJSON struct {
	ID       string    `json:"id"`
	Subject  string    `json:"subject"`
	Unit     string    `json:"unit,omitempty"`
	Observed *float64  `json:"observed"`
	Expected *float64  `json:"expected"`
	Low      *float64  `json:"low"`
	High     *float64  `json:"high"`
	N        int64     `json:"n"`
	Interval *Interval `json:"interval95,omitempty"`
	Tests    int       `json:"tests"`
	Verdict  Verdict   `json:"verdict"`
	Detail   string    `json:"detail,omitempty"`
}

// MarshalJSON writes NaN and infinite numbers as null.
func (a Assertion) MarshalJSON() ([]byte, error) {
	number := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(assertionJSON{
		ID: a.ID, Subject: a.Subject, Unit: a.Unit,
		Observed: number(a.Observed), Expected: number(a.Expected), Low: number(a.Low), High: number(a.High),
		N: a.N, Interval: a.Interval, Tests: a.Tests, Verdict: a.Verdict, Detail: a.Detail,
	})
}

// UnmarshalJSON reads null bounds as infinite and other null numbers as NaN.
func (a *Assertion) UnmarshalJSON(data []byte) error {
	var in assertionJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read assertion: %w", err)
	}
	number := func(v *float64, missing float64) float64 {
		if v == nil {
			return missing
		}
		return *v
	}
	*a = Assertion{
		ID: in.ID, Subject: in.Subject, Unit: in.Unit,
		Observed: number(in.Observed, math.NaN()), Expected: number(in.Expected, math.NaN()),
		Low: number(in.Low, math.Inf(-1)), High: number(in.High, math.Inf(1)),
		N: in.N, Interval: in.Interval, Tests: in.Tests, Verdict: in.Verdict, Detail: in.Detail,
	}
	return nil
}

// Failed reports whether the product failed the assertion.
func (a Assertion) Failed() bool { return a.Verdict == Fail }

// String is the line of a list of expectations.
func (a Assertion) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: ", a.ID, a.Subject)
	if !math.IsNaN(a.Observed) {
		fmt.Fprintf(&b, "observed %s", Quantity(a.Observed, a.Unit))
		if a.Interval != nil {
			fmt.Fprintf(&b, " (95 %%: %s)", a.Interval)
		}
		if a.N > 0 {
			fmt.Fprintf(&b, " of %s", Count(a.N))
		}
		b.WriteString(", ")
	}
	b.WriteString(a.want())
	if a.Detail != "" {
		fmt.Fprintf(&b, "; %s", a.Detail)
	}
	return b.String()
}

// want is the expectation in words.
func (a Assertion) want() string {
	low, high := !math.IsInf(a.Low, -1), !math.IsInf(a.High, 1)
	switch {
	case low && high && a.Low == a.High:
		return "want " + Quantity(a.Low, a.Unit)
	case !math.IsNaN(a.Expected) && low && high:
		return fmt.Sprintf("want %s (%s..%s)", Quantity(a.Expected, a.Unit), Quantity(a.Low, a.Unit), Quantity(a.High, a.Unit))
	case low && high:
		return fmt.Sprintf("want %s..%s", Quantity(a.Low, a.Unit), Quantity(a.High, a.Unit))
	case high:
		return "want at most " + Quantity(a.High, a.Unit)
	case low:
		return "want at least " + Quantity(a.Low, a.Unit)
	}
	return "no bound"
}

// markers end the line of an assertion that did not pass.
func (v Verdict) marker() string {
	switch v {
	case Pass:
		return ""
	case Fail:
		return "   <---- WRONG"
	}
	return "   <---- " + strings.ToUpper(string(v))
}

// PrintExpectations writes a list of assertions with a marker on every line that
// did not pass. Nothing follows the marker, so that the eye finds it.
func PrintExpectations(w io.Writer, title string, assertions []Assertion) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", title)
	for _, a := range assertions {
		fmt.Fprintf(&b, "  %-12s %s%s\n", a.Verdict, oneLine(a.String()), a.Verdict.marker())
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print expectations: %w", err)
	}
	return nil
}

// oneLine makes a line of a text that may hold what some program printed: no
// line breaks and nothing that a terminal obeys.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
}

// Quantity writes a value with its unit in the precision that suits it.
func Quantity(v float64, unit string) string {
	switch unit {
	case "share":
		return strconv.FormatFloat(v, 'f', 4, 64)
	case "ratio":
		return strconv.FormatFloat(v, 'f', 3, 64)
	case "points":
		return strconv.FormatFloat(v, 'f', 1, 64) + " points"
	case "seconds":
		return strconv.FormatFloat(v, 'f', 3, 64) + " s"
	case "bytes":
		return Count(int64(math.Round(v))) + " B"
	case "requests", "count":
		return Count(int64(math.Round(v)))
	}
	return strings.TrimSpace(strconv.FormatFloat(v, 'g', 5, 64) + " " + unit)
}

// Count writes a whole number with commas: 37,500.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
