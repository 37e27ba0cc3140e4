package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"secondhop/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is a connection and its other end, on loopback.
func pair(t *testing.T) (ours *Conn, theirs *net.TCPConn) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer listener.Close()
	tcp, err := net.DialTCP("tcp", nil, listener.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	theirs, err = listener.AcceptTCP()
	require.NoError(t, err)
	ours, err = NewConn(tcp)
	require.NoError(t, err)
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

func untilNotQuiet(t *testing.T, conn *Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.NoError(t, wait.Until(ctx, "the connection not to be quiet", time.Millisecond, func(context.Context) error {
		if conn.Quiet() {
			return errStrange
		}
		return nil
	}))
}

func TestQuietSeesFINResetAndUnaskedBytes(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(peer *net.TCPConn) error{
		"FIN":   func(peer *net.TCPConn) error { return peer.CloseWrite() },
		"close": func(peer *net.TCPConn) error { return peer.Close() },
		"reset": func(peer *net.TCPConn) error { _ = peer.SetLinger(0); return peer.Close() },
		"bytes": func(peer *net.TCPConn) error { _, err := peer.Write([]byte("HTTP/1.1 408")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := pair(t)
			assert.True(t, ours.Quiet())
			// A deadline that has passed, as after an idle time, is no disturbance.
			require.NoError(t, ours.SetDeadline(time.Unix(1, 0)))
			assert.True(t, ours.Quiet())
			require.NoError(t, disturb(theirs))
			untilNotQuiet(t, ours)
		})
	}
}

func TestQuietOfAClosedConnection(t *testing.T) {
	t.Parallel()
	ours, _ := pair(t)
	require.NoError(t, ours.Close())
	assert.False(t, ours.Quiet())
}

func TestConnCarriesMoreThanItsBuffers(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB: writes have to wait
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = ours.WriteMore(sent[:100])
		_, _ = ours.Write(sent[100:])
		_ = ours.CloseWrite()
	}()
	got, err := io.ReadAll(theirs)
	require.NoError(t, err)
	<-written
	assert.True(t, bytes.Equal(sent, got))

	go func() { _, _ = theirs.Write(sent); _ = theirs.Close() }()
	got, err = io.ReadAll(ours) // ends by io.EOF
	require.NoError(t, err)
	assert.True(t, bytes.Equal(sent, got))
}

func TestConnErrors(t *testing.T) {
	t.Parallel()
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		ours, _ := pair(t)
		require.NoError(t, ours.SetDeadline(time.Now().Add(5*time.Millisecond)))
		_, err := ours.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = ours.Write([]byte("x"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		ours, theirs := pair(t)
		require.NoError(t, theirs.SetLinger(0))
		require.NoError(t, theirs.Close())
		_, err := ours.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.ErrorContains(t, err, "read: connection reset by peer")
		_, err = ours.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
	})
	t.Run("closed by us", func(t *testing.T) {
		t.Parallel()
		ours, _ := pair(t)
		go func() { _ = ours.Close() }()
		_, err := ours.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
	})
	t.Run("no room", func(t *testing.T) {
		t.Parallel()
		ours, _ := pair(t)
		n, err := ours.Read(nil)
		require.NoError(t, err)
		assert.Zero(t, n)
	})
}

func TestSenderWritesTheWholeRequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request Request
		id      uint64
		want    string
	}{
		"GET": {Request{Method: "GET", Host: "my-app", Path: "/?size=3"}, 42,
			"GET /?size=3 HTTP/1.1\r\nHost: my-app\r\nX-Request-Id: 0000000042\r\n\r\n"},
		"POST": {Request{Method: "POST", Host: "h", Path: "/", Body: []byte("body"), Close: true}, 7,
			"POST / HTTP/1.1\r\nHost: h\r\nX-Request-Id: 0000000007\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"},
		"empty POST": {Request{Method: "POST", Host: "h", Path: "/"}, 0,
			"POST / HTTP/1.1\r\nHost: h\r\nX-Request-Id: 0000000000\r\nContent-Length: 0\r\n\r\n"},
		"id too long": {Request{Method: "GET", Host: "h", Path: "/"}, 12345678901,
			"GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: 2345678901\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := pair(t)
			sender := NewSender(test.request)
			require.NoError(t, sender.Send(ours, 99999)) // the next one starts afresh
			require.NoError(t, sender.Send(ours, test.id))
			require.NoError(t, ours.CloseWrite())
			got, err := io.ReadAll(theirs)
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got[len(got)/2:]))
			assert.Len(t, test.want, sender.Size())
		})
	}
}
