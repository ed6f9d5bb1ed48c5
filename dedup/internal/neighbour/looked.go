package neighbour

// This file remembers what a search has looked at. Similar contents share many bands, so a search meets the
// same one again and again, and compares it once.

// Looked are the ordinals of one level that were looked at in a search: a bit for each, and a list of what is set.
// If there are very many ordinals, a search looks at a few thousand of them, so they are in a hash table instead.
//
// A searcher uses it for one search after another. Only what was set is cleared in between, so a search takes
// no time for the contents that it does not look at.
type looked struct {
	bits   []uint64
	table  []uint32 // an ordinal and 1, or 0; the length is a power of two
	places []uint32 // words of bits, or places of the table, that are not 0
	shift  uint8    // of the hash
	isFew  bool     // there are bits
}

// begin forgets all, before ordinals below n are looked at.
func (l *looked) begin(n int) {
	for _, at := range l.places {
		if l.isFew {
			l.bits[at] = 0
		} else {
			l.table[at] = 0
		}
	}
	l.places = l.places[:0]
	if l.isFew = n <= mostBits; l.isFew {
		if words := (n + 63) / 64; words > len(l.bits) {
			l.bits = make([]uint64, words+words/4)
		}
	} else if l.table == nil {
		l.grow(leastLooked)
	}
}

// grow makes a table of two to the power of bits places.
func (l *looked) grow(bits uint8) {
	old := *l
	*l = looked{bits: old.bits, table: make([]uint32, 1<<bits), shift: 32 - bits, places: make([]uint32, 0, 1<<bits/2)}
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

// has reports whether an ordinal was looked at, if there are bits. With a table it says no: it only saves a
// call of add, which asks anyway.
func (l *looked) has(ord uint32) bool { return l.isFew && l.bits[ord/64]>>(ord%64)&1 != 0 }

// add takes note of an ordinal, and reports whether it is the first time.
func (l *looked) add(ord uint32) bool {
	if l.isFew {
		word := &l.bits[ord/64]
		if *word&(1<<(ord%64)) != 0 {
			return false
		}
		if *word == 0 {
			l.places = append(l.places, ord/64)
		}
		*word |= 1 << (ord % 64)
		return true
	}
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
