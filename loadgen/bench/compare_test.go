package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const wrkReport = `Running 4s test @ http://127.0.0.1:18099/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.10ms    6.50ms  60.10ms   95.20%
    Req/Sec    45.14k     6.71k   56.04k    77.50%
  Latency Distribution
     50%  792.00us
     75%    1.10ms
     90%    2.50ms
     99%   36.47ms
  179634 requests in 4.01s, 45.22MB read
Requests/sec:  44778.05
Transfer/sec:     11.27MB
`

func TestParseWrk(t *testing.T) {
	t.Parallel()
	got, err := parseWrk(wrkReport, 3592680*time.Microsecond)
	require.NoError(t, err)
	assert.Equal(t, measurement{answered: 44778.05, off: -1, late: -1, response: 36470 * time.Microsecond, cpu: 20 * time.Microsecond}, got)
	for _, missing := range []string{"Requests/sec:", "requests in", "99%"} {
		_, err := parseWrk(strings.ReplaceAll(wrkReport, missing, ""), 0)
		require.Error(t, err, missing)
	}
}

func TestParseVegeta(t *testing.T) {
	t.Parallel()
	got, err := parseVegeta([]byte(`{"latencies":{"mean":1,"99th":250000},"requests":20000,"rate":5000.2,"throughput":4999.5,"success":0.99}`), 5000, 2*time.Second)
	require.NoError(t, err)
	assert.InDelta(t, 200, got.failed, 1e-6)
	assert.InDelta(t, 0.00004, got.off, 1e-9)
	got.failed, got.off = 0, 0
	assert.Equal(t, measurement{answered: 4999.5, late: -1, response: 250 * time.Microsecond, cpu: 100 * time.Microsecond}, got)
	for _, bad := range []string{"", "{}", "text"} {
		_, err := parseVegeta([]byte(bad), 0, 0)
		require.Error(t, err, bad)
	}
}

func TestTableShowsMedians(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	writeTable(&text, []*row{
		{generator: "loadgen", load: "5000/s", results: []measurement{
			{answered: 5000, off: 0.00002, late: 90 * time.Microsecond, response: time.Millisecond, cpu: 40 * time.Microsecond},
			{answered: 4000, off: 0.2, failed: 7, late: 9 * time.Second, response: time.Second, cpu: 90 * time.Microsecond},
			{answered: 5001, late: 80 * time.Microsecond, response: 900 * time.Microsecond, cpu: 41 * time.Microsecond},
		}},
		{generator: "vegeta", load: "5000/s", results: []measurement{{answered: 1, off: -1, failed: 2, late: -1, response: 3000, cpu: 4000}}},
	})
	assert.Equal(t, `
generator           load               answered/s    rate off   failed  lateness p99   response p99  CPU/request
loadgen             5000/s                 5000.0    0.0020 %        0       90.0 us      1000.0 us      41.0 us
vegeta              5000/s                    1.0           -        2             -         3.0 us       4.0 us
`, "\n"+text.String())
}
