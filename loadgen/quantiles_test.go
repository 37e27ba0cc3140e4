package loadgen

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuantilesOfKnownTimes(t *testing.T) {
	t.Parallel()
	h := newHistogram()
	for i := 1; i <= 1000; i++ {
		h.record(time.Duration(i) * time.Millisecond)
	}
	q := h.quantiles()
	assert.EqualValues(t, 1000, q.N)
	for want, got := range map[time.Duration]time.Duration{
		500 * time.Millisecond: q.P50, 900 * time.Millisecond: q.P90, 990 * time.Millisecond: q.P99,
		999 * time.Millisecond: q.P999, 500500 * time.Microsecond: q.Mean,
	} {
		assert.InEpsilon(t, want, got, 0.001)
	}
	assert.Equal(t, time.Second, q.Max, "the maximum is exact")
}

func TestQuantilesAtTheEdges(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Quantiles{}, newHistogram().quantiles())
	h := newHistogram()
	h.record(-time.Second)
	assert.Equal(t, Quantiles{N: 1}, h.quantiles())
	h.record(time.Hour) // past the top: counted, its exact value is the maximum
	q := h.quantiles()
	assert.EqualValues(t, 2, q.N)
	assert.Equal(t, time.Hour, q.Max)
}

func TestWindowsCountByScheduledInstant(t *testing.T) {
	t.Parallel()
	var text []byte
	for i := range 10 {
		r := Record{ID: uint64(i), Scheduled: time.Duration(i) * time.Second}
		r.Sent, r.Done = r.Scheduled+time.Millisecond, r.Scheduled+20*time.Second // all end after all windows
		if i == 5 {
			r.Class = "reset"
		}
		text = r.AppendJSON(text)
	}
	got, err := Windows(strings.NewReader(string(text)), []Window{
		{"before", 0, 5 * time.Second}, {"during", 5 * time.Second, 6 * time.Second}, {"after", 6 * time.Second, time.Hour}, {"none", time.Hour, 2 * time.Hour},
	})
	require.NoError(t, err)
	assert.Equal(t, []uint64{5, 1, 4, 0}, []uint64{got[0].Requests, got[1].Requests, got[2].Requests, got[3].Requests})
	assert.Equal(t, []uint64{0, 1, 0, 0}, []uint64{got[0].Failed, got[1].Failed, got[2].Failed, got[3].Failed})
	assert.Equal(t, map[Class]uint64{"reset": 1}, got[1].ByClass)
	assert.Equal(t, 20*time.Second, got[1].Response.Max)
	assert.Equal(t, 20*time.Second-time.Millisecond, got[1].Service.Max)
	assert.Equal(t, time.Millisecond, got[1].Lateness.Max)
	_, err = Windows(strings.NewReader("broken"), nil)
	require.Error(t, err)
}
