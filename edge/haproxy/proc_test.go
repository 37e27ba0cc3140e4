package haproxy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// processes is what the master of HAProxy 2.6.12 writes, with an old worker.
const processes = `#<PID>          <type>          <reloads>       <uptime>        <version>      
29755           master          1 [failed: 0]   0d00h11m07s     2.6.12-1+deb12u4
# workers
17174           worker          0               0d00h00m01s     2.6.12-1+deb12u4
# old workers
29804           worker          1               0d00h11m06s     2.6.12-1+deb12u4
# programs

`

func TestParseWorkers(t *testing.T) {
	t.Parallel()
	got, err := ParseWorkers(strings.NewReader(processes))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Worker{{17174, 0}, {29804, 1}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "Unknown command\n", "#<PID>\nx worker 0\n", "#<PID>\n1 worker -\n"} {
		if _, err := ParseWorkers(strings.NewReader(bad)); err == nil {
			t.Errorf("ParseWorkers(%q) finds nothing wrong", bad)
		}
	}
}

func FuzzParseWorkers(f *testing.F) {
	f.Add([]byte(processes))
	f.Fuzz(func(t *testing.T, in []byte) {
		workers, err := ParseWorkers(bytes.NewReader(in))
		for _, w := range workers {
			if err != nil || w.PID <= 0 || w.Reloads < 0 {
				t.Errorf("%+v, %v", w, err)
			}
		}
	})
}
