package loadgen

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"secondhop/loadgen/wire"
)

func typical() Record {
	return Record{
		ID: 12345, Node: "secondhop-worker2", Scheduled: 24690 * time.Millisecond, Sent: 24690027101, FirstByte: 24691402311,
		Done: 24691410208, Status: 200, Bytes: 200, IngressNode: "secondhop-worker2", Server: "slot2",
		Pod: "my-app-7d9c5f6b8-x2x4v", PodNode: "secondhop-worker2", Reused: true, Port: 40112,
	}
}

// TestAppendJSONIsWhatEncodingJSONWrites for any record, strange strings included.
func TestAppendJSONIsWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		r := Record{
			ID: rapid.Uint64().Draw(t, "id"), Node: text.Draw(t, "node"),
			Scheduled: time.Duration(rapid.Int64().Draw(t, "scheduled")), Sent: time.Duration(rapid.Int64().Draw(t, "sent")),
			FirstByte: time.Duration(rapid.Int64().Draw(t, "first")), Done: time.Duration(rapid.Int64().Draw(t, "done")),
			Connect: time.Duration(rapid.Int64().Draw(t, "connect")), Status: rapid.Int().Draw(t, "status"),
			Class: wire.Class(text.Draw(t, "class")), Detail: text.Draw(t, "detail"), Bytes: rapid.Int64().Draw(t, "bytes"),
			IngressNode: text.Draw(t, "ingress"), Server: text.Draw(t, "server"), Pod: text.Draw(t, "pod"), PodNode: text.Draw(t, "podNode"),
			Reused: rapid.Bool().Draw(t, "reused"), Port: rapid.Uint16().Draw(t, "port"),
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AppendJSON(nil); string(got) != string(want)+"\n" {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestReadRecordsReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	failed := Record{ID: 2, Class: wire.Reset, Detail: `read "x": reset` + "\n\xff"}
	want := []Record{typical(), failed, {}}
	want[1].Detail = "read \"x\": reset\n\ufffd" // JSON holds UTF-8
	text := []byte("\n")                         // an empty line is none
	for _, r := range []Record{typical(), failed, {}} {
		text = r.AppendJSON(text)
	}
	var got []Record
	require.NoError(t, ReadRecords(bytes.NewReader(text), func(r Record) error { got = append(got, r); return nil }))
	assert.Empty(t, cmp.Diff(want, got))
}

func TestReadRecordsErrors(t *testing.T) {
	t.Parallel()
	ignore := func(Record) error { return nil }
	assert.ErrorContains(t, ReadRecords(strings.NewReader("{\"id\":1}\n{\"id\":2,\"no"), ignore), "line 2")
	assert.ErrorContains(t, ReadRecords(strings.NewReader("{\"id\":-1}\n"), ignore), "line 1")
	assert.ErrorContains(t, ReadRecords(strings.NewReader(strings.Repeat("x", maxLine+1)), ignore), "too long")
	stop := errors.New("enough")
	assert.Equal(t, stop, ReadRecords(strings.NewReader("{}\n{}\n"), func(Record) error { return stop }))
	broken := io.MultiReader(strings.NewReader("{}\n"), failingReader{})
	assert.ErrorIs(t, ReadRecords(broken, ignore), errFull)
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errFull }

func FuzzReadRecords(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"class\":\"eof\"}\n"))
	r := typical()
	f.Add(r.AppendJSON(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = ReadRecords(bytes.NewReader(text), func(r Record) error {
			again := r.AppendJSON(nil)
			return ReadRecords(bytes.NewReader(again), func(same Record) error {
				if diff := cmp.Diff(r, same); diff != "" {
					t.Fatal(diff)
				}
				return nil
			})
		})
	})
}

// BenchmarkRecord compares what a record costs in the formats that were weighed.
// The binary one is the fixed part of a record with indexes into a table of
// strings: what a binary format would come to at best.
func BenchmarkRecord(b *testing.B) {
	r := typical()
	buf := make([]byte, 0, 1024)
	b.Run("AppendJSON", func(b *testing.B) {
		for b.Loop() {
			buf = r.AppendJSON(buf[:0])
		}
		b.ReportMetric(float64(len(buf)), "bytes")
	})
	b.Run("encoding/json", func(b *testing.B) {
		var text []byte
		for b.Loop() {
			text, _ = json.Marshal(r)
		}
		b.ReportMetric(float64(len(text)), "bytes")
	})
	b.Run("binary", func(b *testing.B) {
		index := map[string]uint16{r.Node: 1, r.Server: 2, r.Pod: 3}
		for b.Loop() {
			buf = binary.AppendUvarint(buf[:0], r.ID)
			for _, v := range []int64{int64(r.Scheduled), int64(r.Sent - r.Scheduled), int64(r.FirstByte - r.Sent), int64(r.Done - r.FirstByte), int64(r.Connect), r.Bytes} {
				buf = binary.AppendVarint(buf, v)
			}
			for _, s := range []string{r.Node, string(r.Class), r.Detail, r.IngressNode, r.Server, r.Pod, r.PodNode} {
				buf = binary.LittleEndian.AppendUint16(buf, index[s])
			}
			buf = binary.LittleEndian.AppendUint16(buf, r.Port)
			buf = binary.LittleEndian.AppendUint16(buf, uint16(r.Status))
		}
		b.ReportMetric(float64(len(buf)), "bytes")
	})
	b.Run("collector", func(b *testing.B) {
		c := newCollector(io.Discard)
		for b.Loop() {
			c.add(&r)
		}
		if err := c.close(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("ReadRecords", func(b *testing.B) {
		lines := bytes.Repeat(r.AppendJSON(nil), 1000)
		n := 0
		for b.Loop() {
			if err := ReadRecords(bytes.NewReader(lines), func(Record) error { n++; return nil }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/record")
	})
}
