package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Balance is how evenly requests were spread over pods, relative to the mean.
type Balance struct {
	Pods int `json:"pods"`
	// Max, Min and CV are the greatest and least pod and the coefficient of variation.
	Max float64 `json:"max"`
	Min float64 `json:"min"`
	CV  float64 `json:"cv"`
	// SpreadMax and SpreadMin are what Max and Min are about when every request
	// chooses a pod at random with equal chances: sampling alone.
	SpreadMax float64 `json:"spreadMax"`
	SpreadMin float64 `json:"spreadMin"`
}

// BalanceOf is the balance of the counts by pod; pods without a request must be
// in the map with 0.
func BalanceOf(counts map[string]int64) Balance {
	b := Balance{Pods: len(counts)}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return b
	}
	pods := float64(len(counts))
	mean := float64(total) / pods
	b.Min = math.Inf(1)
	// Sums of fractions depend on their order, and a map has none.
	for _, n := range slices.Sorted(maps.Values(counts)) {
		r := float64(n) / mean
		b.Max, b.Min = math.Max(b.Max, r), math.Min(b.Min, r)
		b.CV += (r - 1) * (r - 1) / pods
	}
	b.CV = math.Sqrt(b.CV)
	// The expected extreme of so many normal values (Blom 1958).
	spread := math.Sqrt((1-1/pods)/mean) * normalQuantile((pods-0.375)/(pods+0.25))
	b.SpreadMax, b.SpreadMin = 1+spread, 1-spread
	return b
}

// podDeviation is a pod that is compared with its expected share.
type podDeviation struct {
	pod        string
	ratio      float64 // to the expected count
	accept     Interval
	distance   float64 // in half-widths of the accepted interval
	power      float64
	unexpected bool
}

// Pods tests every pod's count against its expected share of all requests, each
// by an exact test of the family. The assertion shows the pod that is farthest
// off, as a ratio to what it should have, and names all that are wrong. A pod
// that serves and is not in expected is wrong.
func (f Family) Pods(id, subject string, counts map[string]int64, expected map[string]float64) Assertion {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	a := Assertion{ID: id, Subject: subject, Unit: "ratio", N: total, Tests: len(expected), Expected: 1,
		Observed: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Verdict: Pass}
	if total == 0 || len(expected) == 0 {
		a.Verdict, a.Detail = Inconclusive, "no request was observed"
		return a
	}
	deviations := f.deviations(counts, expected, total)
	worst, power := deviations[0], 1.0
	var wrong []string
	for _, d := range deviations {
		if d.distance > worst.distance {
			worst = d
		}
		power = math.Min(power, d.power)
		if d.unexpected {
			wrong = append(wrong, fmt.Sprintf("%s served %s requests and should not exist", d.pod, Count(counts[d.pod])))
		} else if !d.accept.Contains(d.ratio) {
			wrong = append(wrong, fmt.Sprintf("%s %.3f", d.pod, d.ratio))
		}
	}
	a.Observed, a.Low, a.High = worst.ratio, worst.accept.Low, worst.accept.High
	switch {
	case len(wrong) > 0:
		a.Verdict = Fail
	case power < f.MinPower:
		a.Verdict = Inconclusive
	}
	b := BalanceOf(withAbsent(counts, expected))
	a.Detail = fmt.Sprintf("%d pods, max %.3f min %.3f (sampling alone %.3f %.3f); a pod off by %.0f %% is seen with probability %s",
		b.Pods, b.Max, b.Min, b.SpreadMax, b.SpreadMin, 100*f.PodOff, probability(power))
	if len(wrong) > 0 {
		a.Detail = "wrong: " + strings.Join(wrong, ", ") + "; " + a.Detail
	}
	return a
}

func (f Family) deviations(counts map[string]int64, expected map[string]float64, total int64) []podDeviation {
	var out []podDeviation
	for _, pod := range slices.Sorted(maps.Keys(expected)) {
		p := expected[pod]
		accept := f.Accept(total, p)
		d := podDeviation{pod: pod, power: f.PowerOff(total, p, f.PodOff*p)}
		d.ratio = float64(counts[pod]) / (p * float64(total))
		d.accept = Interval{accept.Low / p, accept.High / p}
		d.distance = math.Abs(d.ratio-1) / math.Max(1e-9, (d.accept.High-d.accept.Low)/2)
		if p == 0 {
			d = podDeviation{pod: pod, power: 1, unexpected: counts[pod] > 0}
			d.accept = Interval{0, 0}
		}
		out = append(out, d)
	}
	for _, pod := range slices.Sorted(maps.Keys(counts)) {
		if _, known := expected[pod]; !known && counts[pod] > 0 {
			out = append(out, podDeviation{pod: pod, power: 1, unexpected: true,
				ratio: math.NaN(), accept: Interval{0, 0}})
		}
	}
	return out
}

// withAbsent adds the expected pods that served nothing.
func withAbsent(counts map[string]int64, expected map[string]float64) map[string]int64 {
	all := maps.Clone(counts)
	if all == nil {
		all = map[string]int64{}
	}
	for pod := range expected {
		all[pod] += 0
	}
	return all
}
