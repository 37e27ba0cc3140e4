package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ticks is a clock that is one nanosecond later at each reading.
func ticks() func() time.Duration {
	now := time.Duration(0)
	return func() time.Duration { now++; return now }
}

func read(from io.Reader, method string) (Response, *Reader, error) {
	r := NewReader(from, ticks(), NewNames())
	resp, err := r.Read(method)
	return resp, r, err
}

func TestReadAccepts(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, test := range map[string]struct {
		method, text string
		want         Response
	}{
		"length": {"GET", ok + "Content-Length: 5\r\n\r\nhello",
			Response{Status: 200, Bytes: 5, Reusable: true}},
		"no reason": {"GET", "HTTP/1.1 204\r\n\r\n",
			Response{Status: 204, Reusable: true}},
		"empty body": {"GET", ok + "Content-Length: 0\r\n\r\n",
			Response{Status: 200, Reusable: true}},
		"names in any case, spaces around values": {"GET", ok + "cOnTeNt-LENGTH: \t 2 \r\n\r\nhi",
			Response{Status: 200, Bytes: 2, Reusable: true}},
		"same length twice": {"GET", ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
			Response{Status: 200, Bytes: 2, Reusable: true}},
		"served by": {"GET", ok + "X-Ingress-Node: w1\r\nX-Server: slot2\r\nX-Pod: p-1\r\nX-Node: w3\r\nContent-Length: 0\r\n\r\n",
			Response{Status: 200, Reusable: true, IngressNode: "w1", Server: "slot2", Pod: "p-1", PodNode: "w3"}},
		"close": {"GET", ok + "Connection: keep-alive, Close\r\nContent-Length: 0\r\n\r\n",
			Response{Status: 200}},
		"HTTP/1.0": {"GET", "HTTP/1.0 503 Gone\r\nContent-Length: 1\r\n\r\nx",
			Response{Status: 503, Bytes: 1}},
		"chunks": {"GET", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n",
			Response{Status: 200, Bytes: 15, Reusable: true}},
		"no chunks": {"POST", ok + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
			Response{Status: 200, Reusable: true}},
		"head has no body": {"HEAD", ok + "Content-Length: 500\r\n\r\n",
			Response{Status: 200, Reusable: true}},
		"304 has no body": {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
			Response{Status: 304, Reusable: true}},
		"interim answers": {"POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Pod: not this\r\n\r\n" + ok + "X-Pod: p\r\nContent-Length: 1\r\n\r\nx",
			Response{Status: 200, Bytes: 1, Reusable: true, Pod: "p"}},
		"large body": {"GET", ok + "Content-Length: 200000\r\n\r\n" + strings.Repeat("x", 200000),
			Response{Status: 200, Bytes: 200000, Reusable: true}},
		"large head": {"GET", ok + strings.Repeat("X-Filler: "+strings.Repeat("y", 100)+"\r\n", 250) + "Content-Length: 0\r\n\r\n",
			Response{Status: 200, Reusable: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, from := range map[string]io.Reader{
				"whole":        strings.NewReader(test.text),
				"byte by byte": iotest.OneByteReader(strings.NewReader(test.text)),
				"halves":       iotest.HalfReader(strings.NewReader(test.text)),
			} {
				got, _, err := read(from, test.method)
				require.NoError(t, err, way)
				assert.Positive(t, got.FirstByte, way)
				got.FirstByte = 0
				assert.Empty(t, cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Response{})), way)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, test := range map[string]refused{
		"other protocol":          {"SSH-2.0-OpenSSH\r\n\r\n", Malformed},
		"HTTP/2":                  {"HTTP/2.0 200 OK\r\n\r\n", Malformed},
		"HTTP/1.2":                {"HTTP/1.2 200 OK\r\n\r\n", Malformed},
		"status of two digits":    {"HTTP/1.1 20 OK\r\n\r\n", Malformed},
		"status with a letter":    {"HTTP/1.1 2O0 OK\r\n\r\n", Malformed},
		"status below 100":        {"HTTP/1.1 099 OK\r\n\r\n", Malformed},
		"no space after status":   {"HTTP/1.1 200OK\r\n\r\n", Malformed},
		"line feed alone":         {"HTTP/1.1 200 OK\nContent-Length: 0\n\n", Malformed},
		"folded header":           {ok + "A: b\r\n c\r\n\r\n", Malformed},
		"header without colon":    {ok + "nonsense\r\n\r\n", Malformed},
		"header without name":     {ok + ": x\r\n\r\n", Malformed},
		"space before colon":      {ok + "Content-Length : 5\r\n\r\nhello", Malformed},
		"negative length":         {ok + "Content-Length: -1\r\n\r\n", Malformed},
		"signed length":           {ok + "Content-Length: +1\r\n\r\nx", Malformed},
		"hexadecimal length":      {ok + "Content-Length: 0x5\r\n\r\nhello", Malformed},
		"empty length":            {ok + "Content-Length:\r\n\r\n", Malformed},
		"length beyond 64 bits":   {ok + "Content-Length: 99999999999999999999\r\n\r\n", Malformed},
		"two lengths":             {ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", Malformed},
		"list of lengths":         {ok + "Content-Length: 1, 1\r\n\r\nx", Malformed},
		"length and chunks":       {ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Malformed},
		"other transfer encoding": {ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", Malformed},
		"chunked twice":           {ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Malformed},
		"chunk size missing":      {ok + "Transfer-Encoding: chunked\r\n\r\n\r\n", Malformed},
		"chunk size with sign":    {ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\n", Malformed},
		"chunk size of 64 bits":   {ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n", Malformed},
		"chunk longer than said":  {ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhey\r\n0\r\n\r\n", Malformed},
		"switching protocols":     {"HTTP/1.1 101 Switching Protocols\r\n\r\n", Malformed},
		"endless interim answers": {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), Malformed},
		"endless line":            {ok + "A: " + strings.Repeat("x", 40000), Malformed},
		"endless head":            {ok + strings.Repeat("A: b\r\n", 8000) + "\r\n", Malformed},
		"endless trailer":         {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", 8000), Malformed},
		"surplus bytes":           {ok + "Content-Length: 2\r\n\r\nhiHTTP", Malformed},
		"body without a length":   {ok + "\r\nsome bytes", Unframed},
	} {
		t.Run(name, test.check)
	}
}

func TestReadTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, test := range map[string]refused{
		"nothing":                   {"", EOF},
		"cut in the status line":    {"HTTP/1.1 2", Truncated},
		"cut in the head":           {ok + "Content-Len", Truncated},
		"cut before the body":       {ok + "Content-Length: 5\r\n\r\n", Truncated},
		"cut in the body":           {ok + "Content-Length: 5\r\n\r\nhel", Truncated},
		"cut by one byte":           {ok + "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 99999), Truncated},
		"cut in a chunk":            {ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", Truncated},
		"cut before the last chunk": {ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Truncated},
		"cut in the trailer":        {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n", Truncated},
		"cut after interim":         {"HTTP/1.1 100 Continue\r\n\r\n", Truncated},
	} {
		t.Run(name, test.check)
	}
}

// refused is an answer and the class of failure that it must be.
type refused struct {
	text  string
	class Class
}

func (test refused) check(t *testing.T) {
	t.Parallel()
	for way, from := range map[string]io.Reader{
		"whole":        strings.NewReader(test.text),
		"byte by byte": iotest.OneByteReader(strings.NewReader(test.text)),
	} {
		got, r, err := read(from, "GET")
		if way == "byte by byte" && strings.HasSuffix(test.text, "hiHTTP") {
			continue // the surplus has not arrived yet: the next look at the connection finds it
		}
		require.Error(t, err, way)
		assert.Equal(t, test.class, Classify(err, r.Stage(), false), "%s: %v", way, err)
		assert.False(t, got.Reusable, way)
	}
}

func TestReadTwiceOnOneConnection(t *testing.T) {
	t.Parallel()
	// The second answer comes with later reads, as on a kept connection.
	from := iotest.OneByteReader(strings.NewReader(
		"HTTP/1.1 200 OK\r\nX-Pod: a\r\nContent-Length: 3\r\n\r\nabc" + "HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\nx"))
	r := NewReader(from, ticks(), NewNames())
	first, err := r.Read("GET")
	require.NoError(t, err)
	second, err := r.Read("GET")
	require.NoError(t, err)
	assert.Equal(t, []any{200, int64(3), "a"}, []any{first.Status, first.Bytes, first.Pod})
	assert.Equal(t, []any{500, int64(1), ""}, []any{second.Status, second.Bytes, second.Pod})
	assert.Less(t, first.FirstByte, second.FirstByte)
	_, err = r.Read("GET")
	assert.Equal(t, EOFReused, Classify(err, r.Stage(), true))
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	names := NewNames()
	for i := range maxNames + 100 {
		value := []byte{'p', byte(i), byte(i >> 8)}
		assert.Equal(t, string(value), names.intern(value))
	}
	assert.Len(t, names.known, maxNames)
}

func TestReaderAllocatesNothingPerAnswer(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nX-Pod: a\r\nX-Node: w1\r\nContent-Length: 3\r\n\r\nabc"
	source := strings.NewReader(text)
	r := NewReader(source, ticks(), NewNames())
	allocated := testing.AllocsPerRun(100, func() {
		source.Reset(text)
		if _, err := r.Read("GET"); err != nil {
			t.Fatal(err)
		}
	})
	assert.Zero(t, allocated)
}

// FuzzRead checks what must hold for any bytes at all: no panic, no endless
// reading, and the same result however the bytes are cut into pieces.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204\r\n\r\n",
		"HTTP/1.0 503 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, r, wholeErr := read(strings.NewReader(string(text)), "GET")
		pieces, _, piecesErr := read(iotest.OneByteReader(strings.NewReader(string(text))), "GET")
		if whole.Bytes > int64(len(text)) {
			t.Fatalf("%d bytes of body in %d bytes", whole.Bytes, len(text))
		}
		surplus := wholeErr != nil && piecesErr == nil && r.start != r.end
		if !surplus && Classify(wholeErr, Answered, false) != Classify(piecesErr, Answered, false) {
			t.Fatalf("whole: %v, in pieces: %v", wholeErr, piecesErr)
		}
		whole.FirstByte, pieces.FirstByte, whole.Reusable, pieces.Reusable = 0, 0, false, false
		if diff := cmp.Diff(whole, pieces, cmpopts.IgnoreUnexported(Response{})); diff != "" {
			t.Fatal(diff)
		}
		if wholeErr == nil && (whole.Status < 200 || whole.Status > 999) {
			t.Fatalf("status %d accepted", whole.Status)
		}
	})
}

var errStrange = errors.New("strange")
