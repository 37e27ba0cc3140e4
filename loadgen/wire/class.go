// Package wire speaks HTTP/1.1 on a connection, one request at a time, and hides
// nothing: it never sends a request twice, counts every byte of an answer, and
// tells apart the ways in which an exchange can fail.
package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Class says how a request ended; OK is the empty string, so that it costs no
// bytes in a record.
type Class string

// The ways in which a request ends.
const (
	OK Class = ""
	// Connect is a connection that could not be opened: refused or unreachable.
	Connect Class = "connect"
	// Timeout is a request that took longer than the plan allows, from the moment
	// it was taken up, opening a connection included.
	Timeout Class = "timeout"
	// Reset is a connection that was reset before an answer began.
	Reset Class = "reset"
	// EOF is a new connection that was closed before an answer began.
	EOF Class = "eof"
	// EOFReused is a kept connection that was closed before an answer began: HAProxy
	// answers some failures of servers that way, and a reload may, too.
	EOFReused Class = "eof-reused"
	// Truncated is an answer that began and did not reach its announced end.
	Truncated Class = "truncated"
	// Malformed is an answer that is not HTTP/1.1 or is followed by surplus bytes.
	Malformed Class = "malformed"
	// Unframed is an answer whose end is only the end of its connection: whether
	// all of it arrived cannot be known.
	Unframed Class = "unframed"
	// Status is a whole answer with a status of 400 or more.
	Status Class = "status"
	// NoTarget is a request for which every target was out by its health probe.
	NoTarget Class = "no-target"
	// Limit is a request that needed a connection beyond the plan's limit.
	Limit Class = "limit"
	// Ports is a request for which this machine had no local port left.
	Ports Class = "ports"
	// Interrupted is a request that was cut off since the run was told to end.
	Interrupted Class = "interrupted"
	// Internal is a failure of this program or machine, such as no descriptors left.
	Internal Class = "internal"
)

// Sentinel errors of an answer; they come wrapped with what was wrong.
var (
	errMalformed = errors.New("malformed answer")
	errUnframed  = errors.New("answer without a length")
)

// Stage is how far an exchange had come when it failed.
type Stage int

// The stages of an exchange.
const (
	Dialing  Stage = iota // opening a connection
	Waiting               // request being sent, no byte of an answer yet
	Answered              // at least one byte of the answer is here
)

// Classify names the class of err, which happened at stage on a connection that
// was new or reused. A nil err is OK.
func Classify(err error, stage Stage, reused bool) Class {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, errMalformed):
		return Malformed
	case errors.Is(err, errUnframed):
		return Unframed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled), errors.Is(err, net.ErrClosed):
		return Interrupted
	}
	switch stage {
	case Dialing:
		return classifyDial(err)
	case Answered:
		return Truncated
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if reused {
			return EOFReused
		}
		return EOF
	case errors.Is(err, syscall.ETIMEDOUT):
		return Timeout
	}
	return Internal
}

func classifyDial(err error) Class {
	var network interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return Ports
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		return Internal
	case errors.As(err, &network) && network.Timeout():
		return Timeout
	}
	return Connect
}
