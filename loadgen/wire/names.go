package wire

import "sync"

// maxNames bounds what a server that sends ever new header values can make this
// program keep. Values beyond it still work, at the price of an allocation each.
const maxNames = 4096

// Names is what the readers of one run share: the strings of pods, nodes and
// servers, which repeat in every answer, and buffers for large bodies.
type Names struct {
	mu      sync.RWMutex
	known   map[string]string
	buffers sync.Pool
}

// NewNames returns an empty set.
func NewNames() *Names {
	return &Names{
		known: make(map[string]string),
		buffers: sync.Pool{New: func() any {
			b := make([]byte, scratchSize)
			return &b
		}},
	}
}

// intern returns the string of b, which costs no allocation for a known one.
func (n *Names) intern(b []byte) string {
	n.mu.RLock()
	s, ok := n.known[string(b)]
	n.mu.RUnlock()
	if ok {
		return s
	}
	s = string(b)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) < maxNames {
		n.known[s] = s
	}
	return s
}

func (n *Names) scratch() *[]byte  { return n.buffers.Get().(*[]byte) }
func (n *Names) release(b *[]byte) { n.buffers.Put(b) }
