package checks

import (
	"context"
	"fmt"

	"secondhop/internal/measure"
)

// ExpectErrors are the parameters of expect_errors.
type ExpectErrors struct {
	Classes []string `yaml:"classes" doc:"which failures count, as of errors_by_class; none means all"`
	Nodes   []int    `yaml:"nodes" doc:"numbers of the workers that the requests were sent to; none means all"`
	AtLeast int64    `yaml:"atLeast" doc:"failures that there must be"`
}

// Validate says what is wrong with the parameters.
func (p ExpectErrors) Validate() error {
	if p.AtLeast < 1 {
		return fmt.Errorf("atLeast %d: a negative control wants at least 1", p.AtLeast)
	}
	return validClasses(p.Classes)
}

func expectErrorsKind() Kind {
	return newKind("expect_errors", "Negative control: requests must fail, so that it is proved that failures are seen.", ExpectErrors{AtLeast: 1},
		func(_ context.Context, in Input, p ExpectErrors) ([]measure.Assertion, error) {
			f, err := in.failures(p.Classes, p.Nodes)
			if err != nil {
				return nil, err
			}
			// The check that has to be red is that there are fewer.
			fewer := measure.AtMost("errors_by_class", in.of(f.what), "requests", float64(f.failed), float64(p.AtLeast-1))
			fewer.N, fewer.Detail = f.requests, f.story
			return []measure.Assertion{measure.Control("expect_errors", in.of(f.what), in.provoked(), f.told(fewer))}, nil
		})
}
