package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"secondhop/internal/command"
)

// RefusedError is a configuration that HAProxy does not accept.
type RefusedError struct {
	Complaint string // HAProxy's words
	Line      int    // 0 when HAProxy names none
	Text      string // that line of the configuration
}

func (e *RefusedError) Error() string {
	if e.Line == 0 {
		return "haproxy refuses the configuration: " + e.Complaint
	}
	return fmt.Sprintf("haproxy refuses line %d of the configuration (%s): %s", e.Line, e.Text, e.Complaint)
}

// Check has HAProxy read the configuration at path without running it. The error
// is a *RefusedError when HAProxy does not accept it.
func Check(ctx context.Context, program, path string) error {
	_, err := command.Run(ctx, program, "-c", "-f", path)
	var failed *command.Error
	if !errors.As(err, &failed) || ctx.Err() != nil || failed.Output == "" {
		return err
	}
	text, readErr := os.ReadFile(path)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return refusal(failed.Output, string(text))
}

var lineNumber = regexp.MustCompile(`\[[^\[\]]*:(\d+)\]`)

// refusal finds the first complaint in HAProxy's output and the line it is about.
func refusal(output, config string) *RefusedError {
	e := &RefusedError{Complaint: strings.TrimSpace(output)}
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "[ALERT]") {
			continue
		}
		_, complaint, _ := strings.Cut(line, " : ")
		e.Complaint = strings.TrimSpace(complaint)
		break
	}
	match := lineNumber.FindStringSubmatch(e.Complaint)
	if match == nil {
		return e
	}
	e.Line, _ = strconv.Atoi(match[1])
	if lines := strings.Split(config, "\n"); e.Line >= 1 && e.Line <= len(lines) {
		e.Text = strings.TrimSpace(lines[e.Line-1])
	}
	return e
}
