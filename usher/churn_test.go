package usher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// crowd is what a busy cluster does to the pods of one app: they come, change,
// terminate, end and go, while others write to them as well.
type crowd struct {
	*playground
	random *rand.Rand
	made   int
	live   []string
	dying  []string
}

func (c *crowd) step() {
	c.Helper()
	switch n := c.random.IntN(10); {
	case n < 4 && len(c.live) < 24:
		name := fmt.Sprintf("pod-%03d", c.made)
		c.made++
		c.create("web", name, fmt.Sprintf("n%d", c.random.IntN(3)))
		c.live = append(c.live, name)
	case n < 6 && len(c.live) > 0: // the kubelet and others write as well
		c.ready(c.live[c.random.IntN(len(c.live))])
		c.patch(c.live[c.random.IntN(len(c.live))], fmt.Sprintf(`{"metadata":{"annotations":{"other":"%d"}}}`, c.random.Int()))
	case n < 7 && len(c.live) > 6:
		c.dying = append(c.dying, c.take(&c.live))
		c.terminate(c.dying[len(c.dying)-1])
	case n < 9 && len(c.dying) > 0:
		c.finish(c.take(&c.dying))
	case len(c.live) > 12:
		c.patchStatus(c.take(&c.live), `{"status":{"phase":"Failed"}}`)
	}
}

func (c *crowd) take(from *[]string) string {
	i := c.random.IntN(len(*from))
	name := (*from)[i]
	*from = append((*from)[:i:i], (*from)[i+1:]...)
	return name
}

// settled waits until each node has as many numbers as it should.
func (c *crowd) settled(slots int) {
	c.Helper()
	c.until("all numbers", func(ctx context.Context) error {
		return c.complete(ctx, slots)
	})
}

func (c *crowd) complete(ctx context.Context, slots int) error {
	pods, err := c.pods(ctx)
	if err != nil {
		return err
	}
	eligible, held := map[string]int{}, map[string]map[string]bool{}
	for _, pod := range pods {
		if pod.Ended && pod.Labelled {
			return fmt.Errorf("%s has ended and still has number %s", pod.Name, pod.Slot)
		}
		if pod.Ended || pod.Terminating && !pod.Labelled {
			continue
		}
		eligible[pod.Node]++
		if pod.Labelled {
			if held[pod.Node] == nil {
				held[pod.Node] = map[string]bool{}
			}
			held[pod.Node][pod.Slot] = true
		}
	}
	for node, n := range eligible {
		if len(held[node]) != min(n, slots) {
			return fmt.Errorf("node %s: %d numbers for %d pods and %d slots", node, len(held[node]), n, slots)
		}
	}
	return nil
}

// testChurn runs two ushers, restarts them and has their requests delayed, while
// the crowd does its worst.
func testChurn(p *playground, r *rig) {
	audit := p.audit()
	p.app("web", 4)
	c := &crowd{playground: p, random: rand.New(rand.NewPCG(7, 7))}
	bad := &badNetwork{random: rand.New(rand.NewPCG(8, 8))}
	ushers := []*running{r.usher(p, "u0", DefaultConfig(), bad.pass), r.usher(p, "u1", DefaultConfig(), bad.pass)}
	for i := range 400 {
		c.step()
		if i%80 == 79 {
			which := i / 80 % 2
			ushers[which].stop()
			ushers[which] = r.usher(p, fmt.Sprintf("u%d", 2+i/80), DefaultConfig(), bad.pass)
		}
	}
	c.settled(4)
	audit.clean(p)
	if bad.lost == 0 {
		p.Error("no answer was lost: the network was not bad enough")
	}
}

// badNetwork delays one request in eight by up to 100 ms and loses the answers
// of one write to pods in eight: the write has been done, and nobody knows.
type badNetwork struct {
	mu     sync.Mutex
	random *rand.Rand
	lost   int
}

var errLost = errors.New("the answer was lost")

func (b *badNetwork) pass(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	b.mu.Lock()
	late, lose := b.random.IntN(8) == 0, b.random.IntN(8) == 0 && r.Method == http.MethodPatch
	delay := time.Duration(b.random.IntN(100)) * time.Millisecond
	if lose {
		b.lost++
	}
	b.mu.Unlock()
	if late {
		sleep(r.Context(), delay)
	}
	answer, err := next.RoundTrip(r)
	if lose && err == nil {
		answer.Body.Close()
		return nil, errLost
	}
	return answer, err
}

// testWrongRule is the churn under the rule that frees a number at deletion: the
// auditor that found nothing wrong in the other parts must find it.
func testWrongRule(p *playground, r *rig) {
	audit := p.audit()
	p.app("web", 4)
	wrong := DefaultConfig()
	wrong.FreeAtDeletion = true
	r.usher(p, "wrong", wrong, good)
	for i := range 5 {
		p.create("web", fmt.Sprint("pod-", i), "n1")
	}
	p.untilNumbers(map[string]string{"pod-0": "0", "pod-1": "1", "pod-2": "2", "pod-3": "3", "pod-4": ""})
	p.terminate("pod-2")
	p.untilNumbers(map[string]string{"pod-0": "0", "pod-1": "1", "pod-2": "2", "pod-3": "3", "pod-4": "2"})
	if problems, _ := audit.report(p); len(problems) == 0 {
		p.Error("the auditor did not see that a number was held twice")
	}
}
