package neardup

// A bag is the distinct features of a text, in the order in which they first occur.
type bag struct {
	factor  uint64   // of the hash, so that nobody can choose keys that collide
	slots   []uint32 // 1 + where a key is, or 0; a power of two of them
	shift   uint
	keys    []uint64
	counts  []float64
	lo, hi  []uint64 // hashes, if they are to be summed
	weights []int64

	features []Feature // if the hash does not say it all
}

// entry returns where a key is, and whether it is new. A new one has a count of 0.
func (b *bag) entry(key uint64) (int, bool) {
	if 4*len(b.keys) >= 3*len(b.slots) {
		b.grow()
	}
	for at := key * b.factor >> b.shift; ; at++ {
		slot := &b.slots[at&uint64(len(b.slots)-1)]
		if *slot == 0 {
			b.keys, b.counts = append(b.keys, key), append(b.counts, 0)
			*slot = uint32(len(b.keys))
			return len(b.keys) - 1, true
		}
		if b.keys[*slot-1] == key {
			return int(*slot - 1), false
		}
	}
}

func (b *bag) grow() {
	b.resize(max(64, 2*len(b.slots)))
	for i, key := range b.keys {
		at := key * b.factor >> b.shift
		for b.slots[at&uint64(len(b.slots)-1)] != 0 {
			at++
		}
		b.slots[at&uint64(len(b.slots)-1)] = uint32(i + 1)
	}
}

// resize makes the slots so many, and empties them.
func (b *bag) resize(slots int) {
	if cap(b.slots) >= slots {
		b.slots = b.slots[:slots]
		clear(b.slots)
	} else {
		b.slots = make([]uint32, slots)
	}
	b.shift = 64
	for n := slots; n > 1; n /= 2 {
		b.shift--
	}
}

// clear empties the bag, and keeps its memory unless that is much.
func (b *bag) clear() {
	if len(b.slots) > 1<<17 {
		*b = bag{factor: b.factor}
		return
	}
	clear(b.features)
	b.keys, b.counts, b.lo, b.hi, b.weights = b.keys[:0], b.counts[:0], b.lo[:0], b.hi[:0], b.weights[:0]
	b.features = b.features[:0]
	b.resize(min(len(b.slots), 64))
}
