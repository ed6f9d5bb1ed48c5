package chinese

import (
	"math/bits"
	"unicode/utf8"
)

// This file has the trie of the dictionary. gse has one, too, but goes through it byte by byte, and
// nearly every byte is a miss of the cache. This one takes a unit at a time.
//
// Every unit has a number ([numbers]). A node of the trie is a sequence of units with which some word
// begins. All nodes are in one hash table; the key of a node is the place of its parent and the number
// of its last unit, and its own place is what its children are found by:
//
//	slots[home(0, 北)]    key 0·北    the word 北
//	slots[home(a, 京)]    key a·京    the word 北京, where a is the place of 北
//
// Two neighbours in a text mostly begin no word together. A filter of two bits for each pair of units
// that begin one says so without a look at the table, which is larger than the cache.

// A slot is a node, or empty.
type slot struct {
	parent uint32 // the place of the parent; 0 for the first unit of a word
	unit   uint32 // the number of the unit
	tag    int32  // the part of speech of the word, as an index in Dictionary.tags, or −1 if no word ends here
	cost   uint32 // of the word
}

// A trie is immutable once it is built.
type trie struct {
	numbers
	roots  [1 << 16]uint32 // the places of the first units that have small numbers
	slots  []slot          // a power of two; place 0 is never used
	shift  int             // 64 minus the binary logarithm of their number
	filter []uint64
	inner  []uint64 // bit p is set if the node at place p has children
	nodes  int
}

// numbers gives numbers to units. A unit of one character has its code point, or a number above all
// code points if it is a byte that is not UTF-8. Longer ones, which are runs of letters, have further
// numbers if they are in the dictionary, and all others share the number noUnit.
type numbers map[string]uint32

const noUnit = 1<<32 - 1

// number returns the number of a unit.
func (n numbers) number(u []byte) uint32 {
	r, size := utf8.DecodeRune(u)
	switch {
	case size == len(u) && (r != utf8.RuneError || size > 1):
		return uint32(r)
	case size == len(u):
		return utf8.MaxRune + 1 + uint32(u[0])
	}
	if x, ok := n[string(u)]; ok {
		return x
	}
	return noUnit
}

// add is number for a unit of a word. It gives it a new number if it has none.
func (n numbers) add(u []byte) uint32 {
	x := n.number(u)
	if x == noUnit {
		x = utf8.MaxRune + 1 + 256 + uint32(len(n))
		n[string(u)] = x
	}
	return x
}

// newTrie builds the trie of words with costs. Of equal words the first one counts.
func newTrie(words func(yield func(text string, cost uint32, tag int32) bool)) *trie {
	for size := 1 << 12; ; size *= 2 {
		t := &trie{numbers: numbers{}, slots: make([]slot, size), shift: 64 - bits.Len(uint(size-1))}
		t.inner, t.filter = make([]uint64, size/64), make([]uint64, size/32)
		fits := true
		words(func(text string, cost uint32, tag int32) bool {
			t.insert(text, cost, tag)
			fits = t.nodes < size/2
			return fits
		})
		if fits {
			for u := range t.roots {
				t.roots[u] = t.child(0, uint32(u))
			}
			return t
		}
	}
}

// insert adds a word.
func (t *trie) insert(text string, cost uint32, tag int32) {
	place, before := uint32(0), uint32(0)
	for n := 0; text != ""; n++ {
		size, _ := unit(text)
		u := t.add([]byte(text[:size]))
		if n == 1 {
			w, m := t.filtered(before, u)
			t.filter[w] |= m
		}
		if place > 0 {
			t.inner[place/64] |= 1 << (place % 64)
		}
		p := t.home(place, u)
		for t.slots[p].used() && (t.slots[p].parent != place || t.slots[p].unit != u) {
			p = t.next(p)
		}
		if !t.slots[p].used() {
			t.slots[p] = slot{place, u, -1, occupied}
			t.nodes++
		}
		place, before, text = p, u, text[size:]
	}
	if s := &t.slots[place]; s.tag < 0 {
		s.tag, s.cost = tag, cost
	}
}

// occupied is the cost of a node where no word ends. Words cost something.
const occupied = 1<<32 - 1

func (s *slot) used() bool { return s.cost > 0 }

// home returns the first place for a node.
func (t *trie) home(parent, unit uint32) uint32 {
	h := (uint64(parent)<<32 | uint64(unit)) * 0x9E3779B97F4A7C15
	return max(1, uint32(h>>t.shift))
}

// next returns the place to try after p.
func (t *trie) next(p uint32) uint32 { return max(1, (p+1)&uint32(len(t.slots)-1)) }

// filtered returns the word of the filter for a pair of units, and its bits there.
func (t *trie) filtered(first, second uint32) (word int, mask uint64) {
	h := (uint64(first)<<32 | uint64(second)) * 0xD6E8FEB86659FD93
	return int(h >> 20 & uint64(len(t.filter)-1)), 1<<(h>>58) | 1<<(h>>52&63)
}

// begins reports whether some word may begin with two units. It is sometimes wrong when it says yes.
func (t *trie) begins(first, second uint32) bool {
	w, m := t.filtered(first, second)
	return t.filter[w]&m == m
}

// root returns the place of a node for the first unit of a word, or 0 if there is none.
func (t *trie) root(unit uint32) uint32 {
	if unit < uint32(len(t.roots)) {
		return t.roots[unit]
	}
	return t.child(0, unit)
}

// child returns the place of the child of a node for a unit, or 0 if there is none. The root is 0.
func (t *trie) child(parent, unit uint32) uint32 {
	for p := t.home(parent, unit); ; p = t.next(p) {
		s := &t.slots[p]
		if s.parent == parent && s.unit == unit && s.used() {
			return p
		}
		if !s.used() {
			return 0
		}
	}
}

// hasChildren reports whether a node has children.
func (t *trie) hasChildren(p uint32) bool { return t.inner[p/64]>>(p%64)&1 != 0 }
