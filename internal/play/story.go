package play

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"secondhop/internal/measure"
	"secondhop/internal/trial"
	"secondhop/loadgen"
)

// writeStory tells what happened in a trial, in the order in which it did: events,
// the first and the last request that was lost, and who lost how many.
func writeStory(w io.Writer, o *trial.Outcome) error {
	var lines []line
	for _, event := range o.Events {
		lines = append(lines, line{event.Applied, event.Name})
		lines = append(lines, line{event.Done, event.Name + ": done, " + event.Detail})
		if event.Undone > 0 {
			lines = append(lines, line{event.Undone, event.Name + ": undone"})
		}
	}
	lost := map[string]int64{}
	var first, last *loadgen.Record
	var n int64
	err := o.Requests.Each(func(r loadgen.Record) error {
		if !r.Failed() {
			return nil
		}
		if first == nil {
			first = &r
		}
		last = &r
		n++
		lost[by(r)]++
		return nil
	})
	if err != nil {
		return err
	}
	if first != nil {
		lines = append(lines, line{first.Done, "first request lost: " + describe(*first)})
		lines = append(lines, line{last.Done, fmt.Sprintf("last request lost, %s after the first", (last.Done - first.Done).Round(time.Millisecond))})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	for _, l := range lines {
		if _, err := fmt.Fprintf(w, "  %7.2f s  %s\n", l.at.Seconds(), l.text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "  lost: %s of %s requests\n", measure.Count(n), measure.Count(o.All().Requests))
	for _, who := range slices.Sorted(maps.Keys(lost)) {
		fmt.Fprintf(w, "    %6d  %s\n", lost[who], who)
	}
	return err
}

type line struct {
	at   time.Duration
	text string
}

// by names the part that a lost request was last seen at.
func by(r loadgen.Record) string {
	who := "at the edge balancer"
	if r.Node != "" {
		who = "at " + r.Node
	}
	if r.Server != "" {
		who += ", server " + r.Server
	}
	if r.Pod != "" {
		who += ", pod " + r.Pod
	}
	return who + ": " + what(r)
}

func what(r loadgen.Record) string {
	if r.Status > 0 {
		return fmt.Sprintf("%s %d", r.Class, r.Status)
	}
	return string(r.Class)
}

func describe(r loadgen.Record) string {
	text := by(r)
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	return text
}
