package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	call := func(name string, errno syscall.Errno) error {
		return &net.OpError{Op: name, Net: "tcp", Err: os.NewSyscallError(name, errno)}
	}
	for name, test := range map[string]struct {
		err    error
		stage  Stage
		reused bool
		want   Class
	}{
		"nothing wrong":           {nil, Answered, true, OK},
		"refused":                 {call("connect", syscall.ECONNREFUSED), Dialing, false, Connect},
		"unreachable":             {call("connect", syscall.EHOSTUNREACH), Dialing, false, Connect},
		"dial reset":              {call("connect", syscall.ECONNRESET), Dialing, false, Connect},
		"dial timed out":          {call("connect", syscall.ETIMEDOUT), Dialing, false, Timeout},
		"dial deadline":           {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, Dialing, false, Timeout},
		"dial context":            {context.DeadlineExceeded, Dialing, false, Timeout},
		"no port":                 {call("connect", syscall.EADDRNOTAVAIL), Dialing, false, Ports},
		"no descriptor":           {call("socket", syscall.EMFILE), Dialing, false, Internal},
		"reset on write":          {call("write", syscall.ECONNRESET), Waiting, false, Reset},
		"broken pipe":             {call("write", syscall.EPIPE), Waiting, true, Reset},
		"reset on read":           {call("read", syscall.ECONNRESET), Waiting, true, Reset},
		"closed, new":             {io.EOF, Waiting, false, EOF},
		"closed, reused":          {io.EOF, Waiting, true, EOFReused},
		"read deadline":           {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, Waiting, true, Timeout},
		"deadline in the body":    {os.ErrDeadlineExceeded, Answered, true, Timeout},
		"kernel gave up":          {call("read", syscall.ETIMEDOUT), Waiting, true, Timeout},
		"closed in the body":      {io.EOF, Answered, false, Truncated},
		"reset in the body":       {call("read", syscall.ECONNRESET), Answered, false, Truncated},
		"malformed":               {fmt.Errorf("%w: x", errMalformed), Answered, false, Malformed},
		"unframed":                {errUnframed, Answered, false, Unframed},
		"cut off by us":           {net.ErrClosed, Waiting, true, Interrupted},
		"cut off while dialing":   {context.Canceled, Dialing, false, Interrupted},
		"something else, waiting": {errStrange, Waiting, false, Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, Classify(test.err, test.stage, test.reused))
		})
	}
}
