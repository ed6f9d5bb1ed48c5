package judge

import "sync"

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

// An own has what a worker made of contents, and what it no longer needs, for the next ones.
type own[T any, P sized[T]] struct {
	of    map[uint32]*T
	spare []*T
	held  int64 // the bytes of spare
}

// A sized is a pointer to something that says about how many bytes it takes.
type sized[T any] interface {
	*T
	Bytes() int
}

// get returns what is there for a slot, or something that is to be made, and whether it is that.
func (o *own[T, P]) get(slot uint32) (x *T, isNew bool) {
	if x = o.of[slot]; x != nil {
		return x, false
	}
	if n := len(o.spare); n > 0 {
		x, o.spare = o.spare[n-1], o.spare[:n-1]
		o.held -= int64(P(x).Bytes())
	} else {
		x = new(T)
	}
	if o.of == nil {
		o.of = map[uint32]*T{}
	}
	o.of[slot] = x
	return x, true
}

// clear forgets everything. What it was made of is kept for the next ones, as far as it takes no more than most bytes.
func (o *own[T, P]) clear(most int64) {
	for _, x := range o.of {
		if b := int64(P(x).Bytes()); o.held+b <= most {
			o.spare, o.held = append(o.spare, x), o.held+b
		}
	}
	clear(o.of)
}
