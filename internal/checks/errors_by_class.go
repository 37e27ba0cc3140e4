package checks

import (
	"context"
	"fmt"

	"secondhop/internal/measure"
)

// ErrorsByClass are the parameters of errors_by_class.
type ErrorsByClass struct {
	Classes []string `yaml:"classes" doc:"which failures count: classes of the load generator (connect, timeout, reset, eof, eof-reused, truncated, malformed, unframed, status, no-target, limit) or statuses (503, 5xx); none means all"`
	Nodes   []int    `yaml:"nodes" doc:"numbers of the workers that the requests were sent to; none means all"`
	AtMost  int64    `yaml:"atMost" doc:"failures that are allowed"`
}

// Validate says what is wrong with the parameters.
func (p ErrorsByClass) Validate() error {
	if p.AtMost < 0 {
		return fmt.Errorf("atMost %d is negative", p.AtMost)
	}
	return validClasses(p.Classes)
}

func errorsByClassKind() Kind {
	return newKind("errors_by_class", "At most so many requests fail, of the named classes, at the named nodes.", ErrorsByClass{},
		func(_ context.Context, in Input, p ErrorsByClass) ([]measure.Assertion, error) {
			f, err := in.failures(p.Classes, p.Nodes)
			if err != nil {
				return nil, err
			}
			if p.AtMost == 0 {
				a := measure.Drops("errors_by_class", in.of(f.what), f.failed, f.requests, nil)
				a.Detail = joined(a.Detail, f.story)
				return []measure.Assertion{f.told(a)}, nil
			}
			a := measure.AtMost("errors_by_class", in.of(f.what), "requests", float64(f.failed), float64(p.AtMost))
			a.N, a.Detail = f.requests, f.story
			return []measure.Assertion{f.told(a)}, nil
		})
}
