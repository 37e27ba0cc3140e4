// Package failure sorts errors by who has to act on them, because the exit code
// and the advice differ: the product under test, the machine, or the caller.
package failure

import (
	"errors"
	"fmt"
)

// Class says whose failure an error is. Its values are the exit codes of the CLI.
type Class int

const (
	// Product is a failed expectation: the traffic did not do what it should.
	Product Class = 1
	// Infrastructure is a lab that could not be built, or a measurement that
	// cannot be trusted (inconclusive).
	Infrastructure Class = 2
	// Usage is input that cannot be accepted as it is.
	Usage Class = 3
)

// Error is one sentence about what went wrong and one about how to cure it.
type Error struct {
	Class Class
	// Cure is what the user can do, as a command where there is one; may be empty.
	Cure string
	Err  error
}

// Error is the sentence without the cure, so that wrapping reads well.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Infra marks err as a failure of the machine or the lab. A nil err stays nil.
func Infra(err error, cure string) error { return mark(Infrastructure, err, cure) }

// Input marks err as something the caller has to change. A nil err stays nil.
func Input(err error, cure string) error { return mark(Usage, err, cure) }

// Expectation marks err as the product's failure. A nil err stays nil.
func Expectation(err error) error { return mark(Product, err, "") }

func mark(class Class, err error, cure string) error {
	if err == nil {
		return nil
	}
	return &Error{Class: class, Cure: cure, Err: err}
}

// Inputf is Input with a formatted sentence and no separate cure.
func Inputf(format string, args ...any) error { return Input(fmt.Errorf(format, args...), "") }

// ExitCode is 0 for nil, the class of the outermost marked error, and
// Infrastructure for an error that nobody marked.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var marked *Error
	if errors.As(err, &marked) {
		return int(marked.Class)
	}
	return int(Infrastructure)
}

// Cure is the advice of the outermost marked error that has one, or "".
func Cure(err error) string {
	var marked *Error
	for errors.As(err, &marked) {
		if marked.Cure != "" {
			return marked.Cure
		}
		err = marked.Err
	}
	return ""
}
