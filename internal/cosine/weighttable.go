package cosine

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A weightTable finds the weights of one vector by feature, or by number of a feature plus 1. It is
// a cuckoo hash table: a key is in one of two places. So a look-up always reads two slots, and
// takes no branch on whether, or where, it finds the key. Nobody could predict such a branch,
// because it depends on which terms two vectors have in common.
type weightTable[K uint32 | uint64] struct {
	slots   []weightSlot[K] // a power of two
	shift   int             // leaves the highest bits of a product, as many as index slots
	factors [2]uint64       // of the two hashes; random, so that nobody can choose colliding keys
}

// A weightSlot has a key, or 0 for none, and the bits of its float32.
type weightSlot[K uint32 | uint64] struct {
	key  K
	bits uint32
}

// set replaces the contents by a vector of n terms. The keys must differ and must not be 0. It
// doubles the size until all keys find a place. The first size leaves two thirds free or more, so
// it usually suffices.
func (t *weightTable[K]) set(n int, term func(i int) (K, float32)) {
	for size := max(64, 1<<bits.Len(uint(3*n))); !t.fill(size, n, term); size *= 2 {
	}
}

// fill enters the terms into a table of a size, with new factors. It returns false if a key finds
// no place.
func (t *weightTable[K]) fill(size, n int, term func(i int) (K, float32)) bool {
	t.factors = [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}
	t.shift = 64 - bits.Len(uint(size-1))
	t.slots = slices.Grow(t.slots[:0], size)[:size]
	clear(t.slots)
	for i := range n {
		key, w := term(i)
		s := weightSlot[K]{key, math.Float32bits(w)}
		at := t.slot(key, 0)
		if other := t.slot(key, 1); t.slots[at].key != 0 && t.slots[other].key == 0 {
			at = other
		}
		for kicks := 0; s.key != 0; kicks++ { // the key that is in the way goes to its other place
			if kicks == 64 {
				return false
			}
			s, t.slots[at] = t.slots[at], s
			if other := t.slot(s.key, 0); other != at {
				at = other
			} else {
				at = t.slot(s.key, 1)
			}
		}
	}
	return true
}

// slot returns one of the two places of a key, by multiplicative hashing.
func (t *weightTable[K]) slot(key K, which int) int {
	return int(uint64(key) * t.factors[which] >> t.shift)
}

// find returns the weight of a key, or 0 if it is not there. Both ifs are conditional moves. In the
// end at most one of x and y is not 0, unless both places of the key are the same.
func (t *weightTable[K]) find(key K) float32 {
	a, b := &t.slots[t.slot(key, 0)], &t.slots[t.slot(key, 1)]
	x, y := a.bits, b.bits
	if a.key != key {
		x = 0
	}
	if b.key != key {
		y = 0
	}
	return math.Float32frombits(x | y)
}
