package frequency

// A Bag holds the distinct features of one text with their counts, in the order in which they first
// occur. That order makes results independent of the hash.
//
// It is an index beside plain arrays: entry e is Keys[e], Counts[e] and so on, and slots is an
// open-addressing hash table of entries with linear probing, at most three quarters full. The
// caller fills Lo, Hi and Weights if it needs them. A Bag is for one goroutine. Its zero value
// works, but Factor should be random and odd.
type Bag struct {
	Factor  uint64   // of the multiplicative hash; secret, so that nobody can choose colliding keys
	slots   []uint32 // 1 plus the entry of a key, or 0 if free; a power of two of them
	shift   uint     // leaves the highest bits of a product, as many as index slots
	Keys    []uint64
	Counts  []float64
	Lo, Hi  []uint64 // the hashes of the features, if they are to be summed
	Weights []int64
}

// Entry returns the entry of a key, and whether it is new. It adds a key that is not there, with a
// count of 0.
func (b *Bag) Entry(key uint64) (int, bool) {
	if 4*len(b.Keys) >= 3*len(b.slots) {
		b.grow()
	}
	for at := key * b.Factor >> b.shift; ; at++ { // the mask below makes it wrap around
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

// grow doubles the slots and enters all keys anew.
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

// resize sets the number of slots, a power of two, and empties them.
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

// Clear empties the bag for the next text. It keeps the memory, unless a very long text made it
// large, and goes back to few slots, so that clearing takes little time when texts are short.
func (b *Bag) Clear() {
	if len(b.slots) > 1<<17 {
		*b = Bag{Factor: b.Factor}
		return
	}
	b.Keys, b.Counts, b.Lo, b.Hi, b.Weights = b.Keys[:0], b.Counts[:0], b.Lo[:0], b.Hi[:0], b.Weights[:0]
	b.resize(min(len(b.slots), 64))
}
