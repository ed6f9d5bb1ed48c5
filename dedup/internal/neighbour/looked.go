package neighbour

// Looked are the ordinals of one level that were looked at in a search: a table by a hash, with some room. A search looks at a few thousand of
// millions, so a set of bits would be much larger.
type looked struct {
	table  []uint32 // an ordinal and 1, or 0; the length is a power of two
	places []uint32 // those that are not 0
	shift  uint8    // of the hash
}

// leastLooked is how many places a table has at least, as a power of two.
const leastLooked = 10

// begin forgets all.
func (l *looked) begin() {
	if l.table == nil {
		l.grow(leastLooked)
	}
	for _, at := range l.places {
		l.table[at] = 0
	}
	l.places = l.places[:0]
}

// grow makes a table of two to the power of bits places.
func (l *looked) grow(bits uint8) {
	old := *l
	*l = looked{table: make([]uint32, 1<<bits), shift: 32 - bits, places: make([]uint32, 0, 1<<bits/2)}
	for _, at := range old.places {
		l.add(old.table[at] - 1)
	}
}

// find returns the place of an ordinal, or the one that it would take, and whether it is there.
func (l *looked) find(ord uint32) (at uint32, ok bool) {
	at = ord * 0x9E3779B1 >> l.shift // by a multiple of the golden section
	for l.table[at] != 0 && l.table[at] != ord+1 {
		at = (at + 1) & uint32(len(l.table)-1)
	}
	return at, l.table[at] != 0
}

// add takes note of an ordinal, and reports whether it is the first time.
func (l *looked) add(ord uint32) bool {
	at, ok := l.find(ord)
	if ok {
		return false
	}
	l.table[at] = ord + 1
	if l.places = append(l.places, at); len(l.places) == cap(l.places) {
		l.grow(32 - l.shift + 1)
	}
	return true
}
