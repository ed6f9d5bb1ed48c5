package clean

import (
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
)

// This file has what is done with lines: to know those of boilerplate, and to unify white space.
//
// Boilerplate is known line by line. A line is compared by a 64-bit hash of its words, so that two
// lines are the same if they differ only in case, punctuation or white space, and a set of lines is
// a sorted slice of eight bytes per line.

// Lines is a set of lines. The zero value is empty. It is safe for concurrent use as long as nobody
// changes Sorted.
type Lines struct {
	Sorted []uint64 // results of LineHash, ascending
}

// has reports whether a line is in the set, by binary search. A line without words never is. A line
// that is not in the set is taken for one with a probability of 2⁻⁶⁴ times the number of lines.
func (b *Lines) has(line []byte) bool {
	h, ok := LineHash(line)
	if !ok {
		return false
	}
	_, found := slices.BinarySearch(b.Sorted, h)
	return found
}

// LineHash returns a hash of the words of a line, as package lex cuts and folds them, in their
// order. It reports false if the line has no words. The hash has no secret, so it does not resist
// collisions that are made on purpose.
func LineHash(line []byte) (uint64, bool) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	b.Reset(false, 1)
	b.Read(lex.String(line), true)
	sum := uint64(0)
	for b.Next() {
		for _, h := range b.Hash64() {
			// Fold in one word: multiply by 2⁶⁴ over the golden ratio, then mix the upper half,
			// which depends on all bits, into the lower. So the order of the words matters.
			sum = (sum ^ h) * 0x9E3779B97F4A7C15
			sum ^= sum >> 32
		}
	}
	return sum, b.Seen
}

// appendSpaced appends a line with every run of white space between words replaced by one space,
// and none at its ends. If line is a later part of a long line, some says that an earlier part left
// text, and due that the earlier part ended with white space. It returns the new value of due.
func appendSpaced(dst, line []byte, some, due bool) ([]byte, bool) {
	for i := 0; i < len(line); {
		c, size := line[i], 1
		white := lex.IsSpace(c)
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(line[i:])
			white = isWideSpace(r)
		}
		if !white {
			// The space is written only now: white space at the end of a line is not followed by
			// anything, and white space at its beginning has no text before it.
			if due && some {
				dst = append(dst, ' ')
			}
			dst = append(dst, line[i:i+size]...)
			some = true
		}
		due = white
		i += size
	}
	return dst, due
}

// isWideSpace reports whether r is white space beyond ASCII. The list is frozen here, so it does
// not change with the Go toolchain.
func isWideSpace(r rune) bool {
	switch r {
	case 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}
