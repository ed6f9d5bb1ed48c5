package judge

import (
	"sync"

	"github.com/neardup/neardup/dedup/internal/neighbour"
)

// A cache keeps what was made of contents, by slot, up to a number of bytes. What it has forgotten is made again, so
// its size changes the time and no result. It may be used by several goroutines.
type cache[T any] struct {
	parts [64]struct {
		sync.RWMutex
		of    map[uint32]T
		bytes int
	}
	most int // bytes in a part
}

// newCache returns a cache for so many bytes.
func newCache[T any](bytes int64) *cache[T] {
	c := &cache[T]{}
	c.most = int(bytes) / len(c.parts)
	return c
}

// get returns what is kept for a slot, or makes it. make also returns about how many bytes it takes.
func (c *cache[T]) get(slot uint32, make func() (T, int)) T {
	p := &c.parts[slot%uint32(len(c.parts))]
	p.RLock()
	x, ok := p.of[slot]
	p.RUnlock()
	if ok {
		return x
	}
	x, bytes := make()
	if slot == neighbour.None { // the guest is another one in the next search
		return x
	}
	p.Lock()
	defer p.Unlock()
	if p.bytes+bytes > c.most || p.of == nil {
		p.of, p.bytes = map[uint32]T{}, 0
	}
	if bytes <= c.most {
		p.of[slot] = x
		p.bytes += bytes
	}
	return x
}

// forget drops what is kept for a slot.
func (c *cache[T]) forget(slot uint32) {
	p := &c.parts[slot%uint32(len(c.parts))]
	p.Lock()
	defer p.Unlock()
	delete(p.of, slot) // its bytes still count, so the part is emptied a little sooner
}
