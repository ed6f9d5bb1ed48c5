package judge

import "sync"

// A cache keeps what was made of contents, by slot, up to a number of bytes. What it has forgotten is made
// again, so its size changes the time and no result. It may be used by several goroutines.
//
// It has two generations. When the young one has half of the bytes it becomes the old one, and what was old is
// forgotten. What is found in the old one becomes young again. So what is used stays, and a look-up of
// something young, the usual case, changes nothing and needs the lock for reading only. The 64 parts keep
// goroutines out of each other's way.
type cache[T any] struct {
	parts [64]struct {
		sync.RWMutex
		young, old map[uint32]cached[T]
		bytes      int // of the young ones
	}
	most int // bytes of a generation of a part
}

// cached is what is kept for a slot, and about how many bytes it takes.
type cached[T any] struct {
	value T
	bytes int
}

// newCache returns a cache that takes about bytes bytes.
func newCache[T any](bytes int64) *cache[T] {
	c := &cache[T]{}
	c.most = int(bytes) / len(c.parts) / 2
	return c
}

// get returns what is kept for a slot, or makes it. make also returns about how many bytes it takes. It runs
// without the lock, since it may take milliseconds. So two goroutines may make the same, and both results are
// right. Something larger than a generation of a part is not kept.
func (c *cache[T]) get(slot uint32, make func() (T, int)) T {
	p := &c.parts[slot%uint32(len(c.parts))]
	p.RLock()
	x, isYoung := p.young[slot]
	isKept := isYoung
	if !isYoung {
		x, isKept = p.old[slot]
	}
	p.RUnlock()
	if isYoung {
		return x.value
	}
	if !isKept {
		x.value, x.bytes = make()
	}
	if x.bytes > c.most {
		return x.value
	}
	p.Lock()
	defer p.Unlock()
	if p.bytes+x.bytes > c.most || p.young == nil {
		p.young, p.old, p.bytes = map[uint32]cached[T]{}, p.young, 0
	}
	p.young[slot] = x
	p.bytes += x.bytes
	return x.value
}

// find returns what is kept for a slot, and whether there is anything.
func (c *cache[T]) find(slot uint32) (T, bool) {
	p := &c.parts[slot%uint32(len(c.parts))]
	p.RLock()
	defer p.RUnlock()
	x, ok := p.young[slot]
	if !ok {
		x, ok = p.old[slot]
	}
	return x.value, ok
}

// put keeps something for a slot, instead of what is kept for it.
func (c *cache[T]) put(slot uint32, value T, bytes int) {
	c.forget(slot)
	c.get(slot, func() (T, int) { return value, bytes })
}

// forget drops what is kept for a slot.
func (c *cache[T]) forget(slot uint32) {
	p := &c.parts[slot%uint32(len(c.parts))]
	p.Lock()
	defer p.Unlock()
	delete(p.young, slot) // its bytes still count, so the generation ends a little sooner
	delete(p.old, slot)
}

// An own has what a worker made of contents between Begin and End, and what it no longer needs, for the next
// ones. One goroutine uses it, so it needs no lock, and nothing is copied into a cache.
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

// clear forgets everything. What it was made of is kept for the next ones, as far as it takes
// no more than most bytes.
func (o *own[T, P]) clear(most int64) {
	for _, x := range o.of {
		if b := int64(P(x).Bytes()); o.held+b <= most {
			o.spare, o.held = append(o.spare, x), o.held+b
		}
	}
	clear(o.of)
}
