package frequency

// A Bag is the distinct features of a text, in the order in which they first occur.
type Bag struct {
	Factor  uint64   // of the hash, so that nobody can choose keys that collide
	slots   []uint32 // 1 + where a key is, or 0; a power of two of them
	shift   uint
	Keys    []uint64
	Counts  []float64
	Lo, Hi  []uint64 // hashes, if they are to be summed
	Weights []int64
}

// Entry returns where a key is, and whether it is new. A new one has a count of 0.
func (b *Bag) Entry(key uint64) (int, bool) {
	if 4*len(b.Keys) >= 3*len(b.slots) {
		b.grow()
	}
	for at := key * b.Factor >> b.shift; ; at++ {
		slot := &b.slots[at&uint64(len(b.slots)-1)]
		if *slot == 0 {
			b.Keys, b.Counts = append(b.Keys, key), append(b.Counts, 0)
			*slot = uint32(len(b.Keys))
			return len(b.Keys) - 1, true
		}
		if b.Keys[*slot-1] == key {
			return int(*slot - 1), false
		}
	}
}

func (b *Bag) grow() {
	b.resize(max(64, 2*len(b.slots)))
	for i, key := range b.Keys {
		at := key * b.Factor >> b.shift
		for b.slots[at&uint64(len(b.slots)-1)] != 0 {
			at++
		}
		b.slots[at&uint64(len(b.slots)-1)] = uint32(i + 1)
	}
}

// resize makes the slots so many, and empties them.
func (b *Bag) resize(slots int) {
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

// Clear empties the bag, and keeps its memory unless that is much.
func (b *Bag) Clear() {
	if len(b.slots) > 1<<17 {
		*b = Bag{Factor: b.Factor}
		return
	}
	b.Keys, b.Counts, b.Lo, b.Hi, b.Weights = b.Keys[:0], b.Counts[:0], b.Lo[:0], b.Hi[:0], b.Weights[:0]
	b.resize(min(len(b.slots), 64))
}
