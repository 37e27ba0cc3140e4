package bench

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServeAnswersEveryRequest(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, 7) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, pieces := range [][]string{
		{request},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r", "\n"}, // cut inside the end
		{request + request + "GET", strings.TrimPrefix(request, "GET")},
	} {
		want := 0
		for _, piece := range pieces {
			_, err = conn.Write([]byte(piece))
			require.NoError(t, err)
		}
		want = strings.Count(strings.Join(pieces, ""), request)
		for range want {
			answer, err := http.ReadResponse(answers, nil)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			assert.Len(t, body, 7)
		}
	}
	cancel() // with the connection open
	require.NoError(t, <-ended)
}

func TestServeHangsUpOnEndlessRequests(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, 7) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, _ = conn.Write(make([]byte, 64<<10))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	cancel()
	require.NoError(t, <-ended)
}
